#pragma once

#include <array>
#include <cmath>
#include <optional>

#include "geometry/rigid.hpp"

namespace lingbot_map {

/// A pinhole camera's focal lengths and principal point in pixels.
struct Intrinsics {
  double fx = 0;
  double fy = 0;
  double cx = 0;
  double cy = 0;

  /// Whether pixels can be unprojected: all finite, and no focal length is zero. A field of view of zero, which the
  /// network can give, is an infinite focal length and so not usable.
  [[nodiscard]] bool usable() const noexcept {
    return std::isfinite(fx) && std::isfinite(fy) && std::isfinite(cx) && std::isfinite(cy) && fx != 0 && fy != 0;
  }
};

/// The camera of a picture of width x height pixels with these fields of view in radians: f = (side / 2) / tan(fov /
/// 2), principal point at (width / 2, height / 2), which is the picture's centre when x and y count from the outer
/// border of the first pixel. A field of view of zero gives an infinite focal length, NaN gives NaN.
[[nodiscard]] Intrinsics intrinsics_from_fov(double fov_vertical, double fov_horizontal, int width,
                                             int height) noexcept;

/// How the network's input lies in the picture it was made from: original = scale * processed + offset, with pixel
/// coordinates counted from the outer border of the first pixel.
struct OriginalPixels {
  int width = 0;  ///< of the original picture
  int height = 0;
  double scale_x = 1;
  double scale_y = 1;
  double offset_x = 0;
  double offset_y = 0;
};

/// The same camera in pixels of the original picture.
[[nodiscard]] Intrinsics in_original_pixels(const Intrinsics& processed, const OriginalPixels& original) noexcept;
/// The way back: a camera of the original picture in pixels of the network's input.
[[nodiscard]] Intrinsics in_processed_pixels(const Intrinsics& of_original, const OriginalPixels& original) noexcept;

/// What the network says of a camera: camera centre x y z, quaternion x y z w (camera to world, of any length),
/// vertical and horizontal field of view (rad).
using PoseEncoding = std::array<float, 9>;

/// Where the camera is. Nothing if the encoding has no pose: the centre is not finite, or the quaternion is zero or not
/// finite.
[[nodiscard]] std::optional<Rigid3> world_from_camera(const PoseEncoding& encoding) noexcept;
/// The camera's intrinsics for a picture of width x height pixels, by intrinsics_from_fov.
[[nodiscard]] Intrinsics intrinsics_of(const PoseEncoding& encoding, int width, int height) noexcept;
/// The encoding of a camera, its quaternion of length one with w >= 0. The principal point, which the encoding has no
/// place for, is left out.
[[nodiscard]] PoseEncoding encode_camera(const Rigid3& world_from_camera, const Intrinsics& intrinsics, int width,
                                         int height) noexcept;

/// The point at `depth` along the optical axis that is seen at (u, v), in camera coordinates (x right, y down,
/// z forward). As in the public implementation, u and v are whole pixel numbers, without one half added.
[[nodiscard]] inline Vec3 unproject(const Intrinsics& intrinsics, double u, double v, double depth) noexcept {
  return {(u - intrinsics.cx) * depth / intrinsics.fx, (v - intrinsics.cy) * depth / intrinsics.fy, depth};
}

}  // namespace lingbot_map
