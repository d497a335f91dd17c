#pragma once

#include <cmath>
#include <cstdint>

#include "export/result_writer.hpp"

namespace lingbot_map::test {

/// A frame of 4 x 2 pixels from a camera at (10, 20, 30) that is turned by 90 degrees about the y axis: its right is
/// -z of the world, its down +y, and it looks along +x. Both focal lengths are 2 and 1 pixels: fields of view of
/// 90 degrees. Depth is 1, 2, ... 8, confidence 1.5 but for the pixels that a test sets.
inline FrameResult small_frame(std::int64_t index = 0) {
  const auto half = static_cast<float>(std::sqrt(0.5));
  const auto right_angle = static_cast<float>(std::acos(0.0));
  FrameResult result;
  result.index = index;
  result.type = index == 0 ? FrameType::scale : FrameType::keyframe;
  result.width = 4;
  result.height = 2;
  result.pose_enc = {10, 20, 30, 0, half, 0, half, right_angle, right_angle};
  result.depth = {1, 2, 3, 4, 5, 6, 7, 8};
  result.depth_conf = std::vector<float>(8, 3.0F);
  return result;
}

/// The 4 x 2 picture whose pixel i has the colour (i, 100 + i, 200 + i).
inline Image small_image() {
  Image image(4, 2);
  for (int i = 0; i < 8; ++i)
    for (int channel = 0; channel < 3; ++channel)
      image.pixels[3 * i + channel] = static_cast<std::uint8_t>(100 * channel + i);
  return image;
}

/// Time index / 10 s; the original picture is twice as large.
inline FrameMeta small_meta(std::int64_t index = 0) {
  FrameMeta meta;
  meta.timestamp = static_cast<double>(index) / 10;
  meta.name = "img_" + std::to_string(index) + ".png";
  meta.image = small_image();
  meta.original = OriginalPixels{8, 4, 2, 2, 0, 0};
  return meta;
}

}  // namespace lingbot_map::test
