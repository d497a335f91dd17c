#pragma once

#include <cstdint>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map::test {

/// A frame of smooth colours that depend on `seed`.
inline Image smooth_frame(int seed, int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) * 3 +
                     static_cast<std::size_t>(c)] =
            static_cast<std::uint8_t>((x * (3 + c) + y * 5 + seed * 37 + x * y * seed) % 256);
      }
    }
  }
  return image;
}

inline std::vector<Image> smooth_frames(int count, int width, int height) {
  std::vector<Image> frames;
  for (int i = 0; i < count; ++i) frames.push_back(smooth_frame(i, width, height));
  return frames;
}

}  // namespace lingbot_map::test
