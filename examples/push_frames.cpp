/// The smallest use of the library: frames made in memory go in, camera poses come out.
///
///     push_frames MODEL.pt|MODEL.safetensors
///     push_frames --synthetic
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "lingbot_map/lingbot_map.hpp"

namespace lm = lingbot_map;

namespace {

constexpr int kFrames = 12;

/// A gradient that drifts to the left, so that every frame differs from the last.
lm::Image make_frame(int index) {
  lm::Image image(84, 56);
  std::uint8_t* pixel = image.pixels.data();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      *pixel++ = static_cast<std::uint8_t>(128 + 127 * std::sin(0.1 * (x + 2 * index)));
      *pixel++ = static_cast<std::uint8_t>(4 * y);
      *pixel++ = static_cast<std::uint8_t>(3 * x);
    }
  }
  return image;
}

void print(const std::vector<lm::FrameResult>& results) {
  for (const lm::FrameResult& result : results) {
    const auto& p = result.pose_enc;
    std::printf("frame %2lld  centre %8.4f %8.4f %8.4f  rotation %7.4f %7.4f %7.4f %7.4f\n",
                static_cast<long long>(result.index), p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: push_frames MODEL | push_frames --synthetic\n");
    return 2;
  }
  const bool synthetic = std::string_view(argv[1]) == "--synthetic";
  const lm::Model model = synthetic ? lm::Model::synthetic(lm::Config::tiny(), 1) : lm::Model::load(argv[1]);
  lm::Session session(model, {.scale_frames = 4, .window = 4});
  for (int index = 0; index < kFrames; ++index) print(session.push(make_frame(index)));
  print(session.finish());
} catch (const lm::Error& error) {
  std::fprintf(stderr, "push_frames: %s\n", error.what());
  return 1;
}
