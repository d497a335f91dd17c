#pragma once

#include <optional>
#include <span>

#include "geometry/similarity.hpp"

namespace lingbot_map {

/// A point in two frames, and how much it counts (0 or more).
struct WeightedPair {
  Vec3 from{};
  Vec3 to{};
  double weight = 1;
};

/// The similarity `to_from` that minimises sum weight |to - to_from * from|^2. Nothing when the pairs do not tell it:
/// fewer than three count, `from` or `to` are one point, or a number is not finite. Points on one line leave the turn
/// about it open; some turn is given. Source: Umeyama, Least-squares estimation of transformation parameters between
/// two point patterns (1991), with weights.
[[nodiscard]] std::optional<Sim3> fit_similarity(std::span<const WeightedPair> pairs) noexcept;

}  // namespace lingbot_map
