#pragma once

#include <array>
#include <optional>

namespace lingbot_map {

using Vec3 = std::array<double, 3>;
/// Row-major.
using Mat3 = std::array<double, 9>;

/// A rotation as x y z w, scalar last as the network writes it. Not necessarily of length one.
struct Quaternion {
  double x = 0;
  double y = 0;
  double z = 0;
  double w = 1;
};

/// The rotation of a quaternion of any length. Nothing when it has no direction: a component is not finite, or the
/// squared length is zero or overflows.
[[nodiscard]] std::optional<Mat3> rotation_from_quaternion(const Quaternion& q) noexcept;

/// The unit quaternion of a rotation matrix, with w >= 0. Each component can be had by dividing by any other; this
/// takes the largest as divisor, so no rotation is near a singularity.
[[nodiscard]] Quaternion quaternion_from_rotation(const Mat3& rotation) noexcept;

/// A rigid motion of space, x -> rotation * x + translation. Variables are named for what they map:
/// `world_from_camera` takes camera coordinates to world coordinates.
struct Rigid3 {
  Mat3 rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vec3 translation = {0, 0, 0};

  [[nodiscard]] Vec3 operator*(const Vec3& point) const noexcept;
  /// a_from_c = a_from_b * b_from_c
  [[nodiscard]] Rigid3 operator*(const Rigid3& other) const noexcept;
  /// The closed form, exact for orthonormal rotations: transpose(R), -transpose(R) * t.
  [[nodiscard]] Rigid3 inverse() const noexcept;
};

}  // namespace lingbot_map
