#include "bench/streams.hpp"

#include <cstdint>

#include "base/message.hpp"
#include "checkpoint/checkpoint.hpp"
#include "config/manifest.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::uint64_t kSeed = 7;

/// Differs from number to number, and has structure at every scale.
Image make_frame(const FrameSize& size, int number) {
  Image image(size.width, size.height);
  std::uint32_t state = 2463534242U + static_cast<std::uint32_t>(number) * 7919U;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    image.pixels[i] = static_cast<std::uint8_t>((i / 3 % static_cast<std::size_t>(size.width) + state % 64) % 256);
  }
  return image;
}

}  // namespace

void add_stream_flags(Flags& flags, StreamFlags& place, UnnamedModel model) {
  flags.group("Model");
  const bool bundled = model == UnnamedModel::bundled;
  flags.value(
      "--config", place.config,
      message("Sizes of a model with synthetic weights", bundled ? "" : " (official)", ", or what a file lacks"),
      "official|tiny|FILE.json");
  flags.value("--model_path", place.model_path,
              message("A checkpoint in place of that: .pt or .safetensors", bundled ? " (comes with the program)" : ""),
              "FILE");
  flags.value("--device", place.device, "auto: a GPU where there is one", "auto|cpu|cuda[:N]");
  flags.value("--dtype", place.dtype, "auto, fp32, bf16, fp16", "LIST");
  flags.value("--threads", place.threads, "Of the CPU; 0: one for each processor (0)", "N");
  flags.group("Stream");
  flags.value("--backend", place.backend, "Attention: auto, sdpa, flashinfer", "LIST");
  flags.value("--size", place.size, message("Pixels of a frame, multiples of 14 (", place.size, ")"), "LIST");
  flags.value("--scale_frames,--num_scale_frames", place.scale_frames, "Frames of the first pass (8)", "N");
  flags.value("--window,--kv_cache_sliding_window", place.window, "Keyframes kept whole (64)", "N");
  flags.value("--camera_iterations,--camera_num_iterations", place.camera_iterations, "Passes of the camera head (4)",
              "N");
  flags.flag("--no_graphs", place.no_graphs, "Do not record and replay a frame's operations on a GPU");
  flags.group("Results");
  flags.value("--output", place.output, "A table for people or an array for programs (md)", "md|json");
}

StreamSettings StreamSettings::of(const StreamFlags& flags) {
  StreamSettings settings;
  settings.output = output_format(flags.output);
  require_at_least_one("--scale_frames", flags.scale_frames);
  require_at_least_one("--window", flags.window);
  require_at_least_one("--camera_iterations", flags.camera_iterations);
  if (flags.threads < 0)
    fail(ErrorCode::usage, "--threads: found ", flags.threads, ", expected 1 or more, or 0 for one a processor");
  settings.device = device_of(flags.device);
  for (const std::string& name : list_of("--dtype", flags.dtype)) settings.dtypes.push_back(dtype_of(name));
  for (const std::string& name : list_of("--backend", flags.backend))
    settings.backends.push_back(attention_of(name, settings.device));
  settings.model_path = flags.model_path;
  settings.config_name = flags.config;
  if (flags.model_path.empty()) {
    if (flags.config.empty()) settings.config_name = "official";
    settings.config = load_config(settings.config_name);
  }
  const int patch = settings.config.value_or(Config::official()).patch_size;
  for (const std::string& name : list_of("--size", flags.size)) {
    const FrameSize size = frame_size(name);
    if (size.width % patch != 0 || size.height % patch != 0)
      fail(ErrorCode::usage, "--size: found ", name, ", expected sides that are multiples of ", patch);
    settings.sizes.push_back(size);
  }
  settings.threads = flags.threads;
  settings.session = {.scale_frames = flags.scale_frames,
                      .window = flags.window,
                      .camera_iterations = flags.camera_iterations,
                      .graphs = !flags.no_graphs};
  return settings;
}

Model StreamSettings::make_model(std::optional<DType> dtype) const {
  ModelOptions options{.device = device, .dtype = dtype, .threads = threads};
  if (model_path.empty()) return Model::synthetic(*config, kSeed, options);
  if (!config_name.empty()) options.config = infer_config(*Checkpoint::open(model_path), config_name);
  return Model::load(model_path, options);
}

std::string StreamSettings::model_name() const {
  return model_path.empty() ? message(config_name, ", synthetic weights of seed ", kSeed) : model_path;
}

std::string StreamSettings::heading() const {
  return message("lingbot-map ", version(), " (", commit(), "), ", device_text(device), "; ", model_name());
}

nlohmann::ordered_json conditions(const StreamSettings& settings, const Model& model, AttentionKind attention,
                                  const FrameSize& size) {
  return {{"model", settings.model_name()},
          {"dtype", std::string(name_of(model.dtype()))},
          {"backend", std::string(name_of(attention))},
          {"size", size.text()},
          {"threads", model.threads()},
          {"scale_frames", settings.session.scale_frames},
          {"window", settings.session.window},
          {"camera_iterations", settings.session.camera_iterations},
          {"graphs", settings.session.graphs}};
}

std::vector<Image> make_frames(const FrameSize& size, int count) {
  std::vector<Image> frames;
  for (int i = 0; i < count; ++i) frames.push_back(make_frame(size, i));
  return frames;
}

}  // namespace lingbot_map::tool
