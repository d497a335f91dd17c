#pragma once

#include "geometry/rigid.hpp"

namespace lingbot_map {

/// A similarity of space, x -> scale * rotation * x + translation, with scale > 0. Named for what it maps, as Rigid3
/// is: `truth_from_estimate`.
struct Sim3 {
  double scale = 1;
  Mat3 rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vec3 translation = {0, 0, 0};

  [[nodiscard]] Vec3 operator*(const Vec3& point) const noexcept;
  /// a_from_c = a_from_b * b_from_c
  [[nodiscard]] Sim3 operator*(const Sim3& other) const noexcept;
  /// The pose of a camera after the world it stands in was mapped: its centre goes where every point goes, its axes
  /// turn and keep their length. With `b_from_a * a_from_camera`, depths of that camera grow by `scale`.
  [[nodiscard]] Rigid3 operator*(const Rigid3& pose) const noexcept;
  [[nodiscard]] Sim3 inverse() const noexcept;
};

}  // namespace lingbot_map
