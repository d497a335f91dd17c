// Holds the official-size network against stored reference outputs of real frames: the numbers of docs/numerics.md. Too
// long for the tests: minutes, and 5 GB.
//
//   compare_golden --golden full.safetensors --frames FOLDER --dtype fp32|bf16

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "golden.hpp"
#include "lingbot_map/lingbot_map.hpp"
#include "media/image.hpp"
#include "media/image_files.hpp"

namespace {

using namespace lingbot_map;

/// Every `stride`-th pixel of a map in both directions.
void append_sampled(const std::vector<float>& map, const FrameResult& frame, int stride, std::vector<float>& target) {
  for (int y = 0; y < frame.height; y += stride) {
    for (int x = 0; x < frame.width; x += stride) {
      target.push_back(
          map[static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.width) + static_cast<std::size_t>(x)]);
    }
  }
}

void compare(const std::string& golden_path, const std::filesystem::path& frames, DType dtype, int threads) {
  test::Golden golden(golden_path);
  const nlohmann::json meta = golden.metadata();
  const auto count = meta.at("frames").get<std::size_t>();
  const auto stride = meta.at("stride").get<int>();
  const Model model = Model::synthetic(Config::official(), meta.at("seed"), {.dtype = dtype, .threads = threads});
  Session session(model, {.scale_frames = meta.at("scale_frames"), .window = meta.at("sliding_window")});
  std::vector<std::filesystem::path> files = list_images(frames);
  if (files.size() < count) throw Error(ErrorCode::input, frames.string() + ": too few images");
  files.resize(count);

  std::vector<float> pose;
  std::vector<float> depth;
  std::vector<float> depth_conf;
  for (const auto& file : files) {
    const auto start = std::chrono::steady_clock::now();
    for (const FrameResult& frame : session.push(decode_image(file))) {
      pose.insert(pose.end(), frame.pose_enc.begin(), frame.pose_enc.end());
      append_sampled(frame.depth, frame, stride, depth);
      append_sampled(frame.depth_conf, frame, stride, depth_conf);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "%s %.2f s\n", file.filename().c_str(), seconds);
  }
  std::printf("| %s against | pose | depth | confidence |\n|---|---|---|---|\n", std::string(name_of(dtype)).c_str());
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
  std::string golden;
  std::string frames;
  std::string dtype = "fp32";
  int threads = 0;
  app.add_option("--golden", golden)->required();
  app.add_option("--frames", frames, "folder whose first images are the reference's")->required();
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  compare(golden, frames, dtype == "bf16" ? DType::bf16 : DType::f32, threads);
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_golden: %s\n", error.what());
  return 1;
}
