#pragma once

#include <optional>
#include <span>

#include "geometry/rigid.hpp"

namespace lingbot_map {

/// A similarity of space, x -> scale * rotation * x + translation; scale is positive. Named for what it maps, like
/// Rigid3: `world_from_window`.
struct Sim3 {
  double scale = 1;
  Mat3 rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vec3 translation = {0, 0, 0};

  [[nodiscard]] Vec3 operator*(const Vec3& point) const noexcept;
  /// Where a camera is then: a camera has no scale, so its rotation is only turned and its centre mapped.
  [[nodiscard]] Rigid3 operator*(const Rigid3& world_from_camera) const noexcept;
};

/// A point in two frames, and how much it counts (0 or more).
struct WeightedPair {
  Vec3 from{};
  Vec3 to{};
  double weight = 1;
};

/// The similarity `to_from` that minimises sum weight |to - to_from * from|^2. Nothing when the pairs do not tell it:
/// fewer than three count, `from` or `to` are one point, or a number is not finite. Points on one line leave the turn
/// about it open; some turn is given. Source: Horn, Closed-form solution of absolute orientation using unit quaternions
/// (1987), for the rotation; Umeyama (1991) for the scale.
[[nodiscard]] std::optional<Sim3> fit_similarity(std::span<const WeightedPair> pairs) noexcept;

}  // namespace lingbot_map
