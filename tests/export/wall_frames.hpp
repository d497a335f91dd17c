#pragma once

#include <cmath>
#include <cstdint>

#include "export/posed_frame.hpp"

namespace lingbot_map::test {

inline constexpr int kWallWidth = 32;
inline constexpr int kWallHeight = 24;

/// Where the camera of frame `index` of a walk along a slanted wall is.
inline Rigid3 wall_camera(std::int64_t index) {
  const double angle = 0.02 * static_cast<double>(index);
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  return {{c, 0, s, 0, 1, 0, -s, 0, c}, {0.1 * static_cast<double>(index), 0.02 * static_cast<double>(index), 0}};
}
inline Intrinsics wall_intrinsics() { return {30, 30, kWallWidth / 2.0, kWallHeight / 2.0}; }

/// Frame `index`: the wall z = 4 + x / 4 seen through the middle of every pixel, exactly but for rounding to float32.
/// Confidence is 3, and 4 in every pixel whose row and column are multiples of three.
inline FrameResult wall_frame(std::int64_t index) {
  FrameResult result;
  result.index = index;
  result.type = index < 2 ? FrameType::scale : FrameType::keyframe;
  result.width = kWallWidth;
  result.height = kWallHeight;
  const Rigid3 camera = wall_camera(index);
  result.pose_enc = encode_camera(camera, wall_intrinsics(), kWallWidth, kWallHeight);
  for (int v = 0; v < kWallHeight; ++v) {
    for (int u = 0; u < kWallWidth; ++u) {
      const Vec3 ray = Rigid3{camera.rotation, {}} * unproject(wall_intrinsics(), u + 0.5, v + 0.5, 1);
      // centre + depth * ray lies on the wall
      const double depth = (4 + camera.translation[0] / 4 - camera.translation[2]) / (ray[2] - ray[0] / 4);
      result.depth.push_back(static_cast<float>(depth));
      result.depth_conf.push_back(u % 3 == 0 && v % 3 == 0 ? 4.0F : 3.0F);
    }
  }
  return result;
}

/// Time index / 10 s; the original picture is twice as large; no file.
inline FrameMeta wall_meta(std::int64_t index) {
  FrameMeta meta;
  meta.timestamp = static_cast<double>(index) / 10;
  meta.name = "wall_" + std::to_string(index) + ".png";
  meta.image = Image(kWallWidth, kWallHeight);
  for (std::size_t i = 0; i < meta.image.pixels.size(); ++i)
    meta.image.pixels[i] = static_cast<std::uint8_t>((7 * i + static_cast<std::size_t>(index)) % 256);
  meta.original = OriginalPixels{2 * kWallWidth, 2 * kWallHeight, 2, 2, 0, 0};
  return meta;
}

}  // namespace lingbot_map::test
