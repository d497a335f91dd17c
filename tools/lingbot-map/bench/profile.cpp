#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"
#include "bench/profile_summary.hpp"
#include "bench/streams.hpp"
#include "choices.hpp"
#include "command.hpp"
#include "lingbot_map/device_info.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

constexpr int kScaleFrames = 8;  // fixed in the public profiler
constexpr int kWarmupFrames = 10;
constexpr int kDifferentFrames = 8;
constexpr double kMilliseconds = 1000;

struct ProfileFlags {
  int img_h = 378;
  int img_w = 504;
  int num_frames = 500;
  int sliding_window = 64;
  int camera_num_iterations = 4;
  int keyframe_interval = 1;
  std::string backend;  ///< empty: flashinfer where the device has it
  std::string dtype = "bf16";
  std::string config = "official";
  std::string device = "auto";
  int threads = 0;
  std::string output;
  std::vector<std::string> notes;
};

StreamFlags stream_flags(const ProfileFlags& flags) {
  static_cast<void>(choice("--dtype", flags.dtype, {"bf16", "fp32", "both", "fp16"}));
  if (!flags.backend.empty()) static_cast<void>(choice("--backend", flags.backend, {"sdpa", "flashinfer", "both"}));
  StreamFlags stream;
  stream.config = flags.config;
  stream.device = flags.device;
  stream.threads = flags.threads;
  stream.size = message(flags.img_w, "x", flags.img_h);
  stream.window = flags.sliding_window;
  stream.camera_iterations = flags.camera_num_iterations;
  stream.scale_frames = kScaleFrames;
  stream.dtype = flags.dtype == "both" ? "bf16,fp32" : flags.dtype;
  stream.backend = flags.backend == "both" ? "sdpa,flashinfer" : flags.backend.empty() ? "auto" : flags.backend;
  return stream;
}

/// The public profiler's name, in the system's folder for temporary files.
std::filesystem::path public_name(const ProfileFlags& flags) {
  return std::filesystem::temp_directory_path() /
         message("profile_results_", flags.img_h, "x", flags.img_w, "_", flags.num_frames, "f_", flags.dtype, ".json");
}

class Profile {
 public:
  explicit Profile(ProfileFlags flags) : flags_(std::move(flags)), settings_(StreamSettings::of(stream_flags(flags_))) {
    require_at_least_one("--keyframe_interval", flags_.keyframe_interval);
    if (flags_.num_frames <= kScaleFrames)
      fail(ErrorCode::usage, "--num_frames: found ", flags_.num_frames, ", expected more than the ", kScaleFrames,
           " scale frames");
    settings_.session.keyframe_interval = flags_.keyframe_interval;
  }

  void run() {
    for (const std::string& note : flags_.notes) std::cerr << "lingbot-map: " << note << '\n';
    FileWriter file(flags_.output.empty() ? public_name(flags_) : std::filesystem::path(flags_.output));
    std::cout << settings_.heading() << "; " << settings_.sizes.front().text() << ", window "
              << settings_.session.window << ", keyframe interval " << settings_.session.keyframe_interval
              << "\nTimes are from a frame's way in to its results, copies included, one frame at a time.\n";
    nlohmann::ordered_json results;
    for (const std::optional<DType>& dtype : settings_.dtypes) {
      const Model model = settings_.make_model(dtype);
      for (const AttentionKind backend : settings_.backends) {
        SessionOptions options = settings_.session;
        options.attention = backend;
        static_cast<void>(stream(model, options, kScaleFrames + kWarmupFrames));
        const auto [attention, summary] = stream(model, options, flags_.num_frames);
        const std::string name = message(name_of(attention), "_", name_of(model.dtype()));
        std::cout << summary.text(name) << std::flush;
        results[name] = summary.json();
      }
    }
    file.write(results.dump(2) + "\n");
    file.commit();
    std::cout << "Written to " << file.name() << '\n';
  }

 private:
  struct Streamed {
    AttentionKind attention;
    ProfileSummary summary;
  };
  [[nodiscard]] Streamed stream(const Model& model, const SessionOptions& options, int count) const {
    Session session(model, options);
    const std::vector<Image> frames = make_frames(settings_.sizes.front(), kDifferentFrames);
    const auto push = [&](int i) {
      static_cast<void>(session.push(frames[static_cast<std::size_t>(i) % frames.size()]));
    };
    const Stopwatch phase1;
    for (int i = 0; i < kScaleFrames; ++i) push(i);
    const double phase1_ms = kMilliseconds * phase1.seconds();
    std::vector<double> frame_ms;
    for (int i = kScaleFrames; i < count; ++i) {
      const Stopwatch watch;
      push(i);
      frame_ms.push_back(kMilliseconds * watch.seconds());
    }
    return {session.attention(), ProfileSummary::of(kScaleFrames, phase1_ms, frame_ms)};
  }

  ProfileFlags flags_;
  StreamSettings settings_;
};

}  // namespace

void add_profile(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "profile", "What the public profiler measures, by its flags: time along a stream, random weights and images");
  command->footer("`bench frames` measures more: a filled cache at any depth, medians, stages, overlapping frames.");
  const auto flags = std::make_shared<ProfileFlags>();
  Flags adder(*command);
  adder.value("--img_h", flags->img_h, "Height of a frame, a multiple of 14 (378)", "PIXELS");
  adder.value("--img_w", flags->img_w, "Width of a frame, a multiple of 14 (504)", "PIXELS");
  adder.value("--num_frames", flags->num_frames, "Frames in all, 8 of them scale frames (500)", "N");
  adder.value("--sliding_window", flags->sliding_window, "Keyframes kept whole (64)", "N");
  adder.value("--camera_num_iterations", flags->camera_num_iterations, "Refinement passes of the pose (4)", "N");
  adder.value("--backend", flags->backend, "Attention; without it the fastest that there is", "sdpa|flashinfer|both");
  adder.value("--dtype", flags->dtype, "bf16 unless given", "bf16|fp32|both");
  adder.value("--keyframe_interval", flags->keyframe_interval, "Every n-th frame is kept (1)", "N");
  adder.value("--config", flags->config, "Sizes of the network (official)", "official|tiny|FILE.json");
  adder.value("--device", flags->device, "auto: a GPU where there is one", "auto|cpu|cuda[:N]");
  adder.value("--threads", flags->threads, "Of the CPU; 0: one for each processor (0)", "N");
  adder.value("--output", flags->output,
              "The results as JSON (profile_results_HxW_Nf_DTYPE.json in the system's folder "
              "for temporary files)",
              "FILE");
  auto& notes = flags->notes;
  adder.line_for("--img_size", 1, notes, "positions are resized to any frame; the value changes nothing");
  adder.switch_for("--compile", notes, "every kernel was compiled with the program; the flag changes nothing");
  adder.switch_for(
      "--fa3", notes,
      "FlashAttention-3 is taken where the GPU has it, without its padded pages; the flag changes nothing");
  command->callback([flags] { Profile(*flags).run(); });
}

}  // namespace lingbot_map::tool
