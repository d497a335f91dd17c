// Holds the official-size network against stored reference outputs of real frames: the numbers of docs/numerics.md. Too
// long for the tests: minutes on a CPU, and 5 GB.
//
//   compare_golden --golden full.safetensors --frames FOLDER --dtype bf16 --device cuda --backend flashinfer
//
// A build without media reads no pictures; one with them writes what it needs instead:
//
//   compare_golden --golden full.safetensors --frames FOLDER --write_frames frames.safetensors
//   compare_golden --golden full.safetensors --frames frames.safetensors

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "golden.hpp"
#include "lingbot_map/lingbot_map.hpp"
#ifdef LINGBOT_MAP_HAS_MEDIA
#include "media/image.hpp"
#include "media/image_files.hpp"
#endif

namespace {

using namespace lingbot_map;

struct Options {
  std::string golden;
  std::filesystem::path frames;
  std::filesystem::path write_frames;
  std::string dtype = "fp32";
  std::string device;
  std::string backend = "auto";
  bool no_graphs = false;
  int threads = 0;
};

#ifdef LINGBOT_MAP_HAS_MEDIA
std::vector<Image> read_folder(const std::filesystem::path& folder, std::size_t count) {
  std::vector<std::filesystem::path> files = list_images(folder);
  files.resize(std::min(files.size(), count));
  std::vector<Image> images;
  for (const auto& file : files) images.push_back(decode_image(file));
  return images;
}
#else
std::vector<Image> read_folder(const std::filesystem::path& folder, std::size_t) {
  throw Error(ErrorCode::unsupported,
              folder.string() + ": this build reads no pictures; expected a file that --write_frames made");
}
#endif

/// The first `count` frames of a folder of pictures, or of the tensor `images` u8 [frames, 3, height, width] of a
/// safetensors file.
std::vector<Image> read_frames(const std::filesystem::path& from, std::size_t count) {
  std::vector<Image> images =
      from.extension() == ".safetensors" ? test::Golden(from.string()).images("images") : read_folder(from, count);
  if (images.size() < count) {
    throw Error(ErrorCode::input, from.string() + ": found " + std::to_string(images.size()) + " frames, expected " +
                                      std::to_string(count) + " or more");
  }
  images.resize(count);
  return images;
}

void write_frames(const std::vector<Image>& images, const std::filesystem::path& path) {
  const Image& first = images.front();
  const std::size_t plane = first.pixels.size() / 3;
  std::string planar(images.size() * 3 * plane, '\0');
  for (std::size_t frame = 0; frame < images.size(); ++frame) {
    if (images[frame].width != first.width || images[frame].height != first.height)
      throw Error(ErrorCode::input, "--write_frames: frames of different sizes");
    for (std::size_t i = 0; i < plane; ++i) {
      for (std::size_t c = 0; c < 3; ++c)
        planar[(frame * 3 + c) * plane + i] = static_cast<char>(images[frame].pixels[3 * i + c]);
    }
  }
  const nlohmann::json header = {{"images",
                                  {{"dtype", "U8"},
                                   {"shape", {images.size(), 3, first.height, first.width}},
                                   {"data_offsets", {0, planar.size()}}}}};
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file << text << planar;
  file.close();
  if (!file) throw Error(ErrorCode::output, path.string() + ": cannot be written");
  std::printf("%zu frames of %dx%d in %s\n", images.size(), first.width, first.height, path.c_str());
}

/// Every `stride`-th pixel of a map in both directions.
void append_sampled(const std::vector<float>& map, const FrameResult& frame, int stride, std::vector<float>& target) {
  for (int y = 0; y < frame.height; y += stride) {
    for (int x = 0; x < frame.width; x += stride) {
      target.push_back(
          map[static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.width) + static_cast<std::size_t>(x)]);
    }
  }
}

AttentionKind kind_of(const std::string& name) {
  for (const AttentionKind kind : {AttentionKind::sdpa, AttentionKind::flashinfer})
    if (name == name_of(kind)) return kind;
  return AttentionKind::automatic;
}

DType dtype_of(const std::string& name) {
  for (const DType dtype : {DType::bf16, DType::f16})
    if (name == name_of(dtype)) return dtype;
  return DType::f32;
}

void compare(const Options& options) {
  test::Golden golden(options.golden);
  const nlohmann::json meta = golden.metadata();
  const auto stride = meta.at("stride").get<int>();
  const std::vector<Image> images = read_frames(options.frames, meta.at("frames").get<std::size_t>());
  if (!options.write_frames.empty()) return write_frames(images, options.write_frames);
  const Model model =
      Model::synthetic(Config::official(), meta.at("seed"),
                       {.device = options.device.empty() ? default_device() : Device::parse(options.device),
                        .dtype = dtype_of(options.dtype),
                        .threads = options.threads});
  Session session(model, {.scale_frames = meta.at("scale_frames"),
                          .window = meta.at("sliding_window"),
                          .attention = kind_of(options.backend),
                          .graphs = !options.no_graphs});

  std::vector<float> pose;
  std::vector<float> depth;
  std::vector<float> depth_conf;
  const auto start = std::chrono::steady_clock::now();
  for (const Image& image : images) {
    for (const FrameResult& frame : session.push(image)) {
      pose.insert(pose.end(), frame.pose_enc.begin(), frame.pose_enc.end());
      append_sampled(frame.depth, frame, stride, depth);
      append_sampled(frame.depth_conf, frame, stride, depth_conf);
    }
    std::fprintf(stderr, ".");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(stderr, " %.2f s\n", seconds);
  std::printf("| %s, %s on %s, against | pose | depth | confidence |\n|---|---|---|---|\n",
              std::string(name_of(model.dtype())).c_str(), std::string(name_of(session.attention())).c_str(),
              device_info(model.device()).name.c_str());
  for (const std::string reference : {"fp32", "bf16_flashinfer", "bf16_sdpa"}) {
    std::printf("| %s | %.2e | %.2e | %.2e |\n", reference.c_str(),
                test::relative_error(pose, golden.floats(reference + ".pose_enc")),
                test::relative_error(depth, golden.floats(reference + ".depth")),
                test::relative_error(depth_conf, golden.floats(reference + ".depth_conf")));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Holds the official-size network against stored reference outputs."};
  Options options;
  app.add_option("--golden", options.golden)->required();
  app.add_option("--frames", options.frames,
                 "folder whose first images are the reference's, or a file that --write_frames made")
      ->required();
  app.add_option("--write_frames", options.write_frames, "write the frames to this .safetensors file, and stop");
  app.add_option("--dtype", options.dtype)->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--device", options.device, "cpu or cuda[:N]; by default a GPU where there is one");
  app.add_option("--backend", options.backend)->check(CLI::IsMember({"auto", "sdpa", "flashinfer"}));
  app.add_flag("--no_graphs", options.no_graphs);
  app.add_option("--threads", options.threads);
  CLI11_PARSE(app, argc, argv);
  compare(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_golden: %s\n", error.what());
  return 1;
}
