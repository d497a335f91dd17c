#pragma once

#include <cstddef>
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

/// What pairs are to each other around their means, weighted: all that a fit needs to know of them.
struct PairMoments {
  std::size_t counted = 0;  ///< pairs with a weight above 0
  double weight = 0;        ///< sum
  Vec3 from{};              ///< means
  Vec3 to{};
  double from_spread = 0;  ///< sums of weight times squared distance from the mean
  double to_spread = 0;
  Mat3 covariance{};  ///< [to axis, from axis], not divided by the weight
};
/// Not finite where a number of the pairs is not, or where there is no weight.
[[nodiscard]] PairMoments moments_of(std::span<const WeightedPair> pairs) noexcept;

/// The similarity `to_from` that minimises sum weight |to - to_from * from|^2. Nothing when the pairs do not tell it:
/// fewer than three count, `from` or `to` are one point, or a number is not finite. Points on one line leave the turn
/// about it open; some turn is given. Source: Umeyama, Least-squares estimation of transformation parameters between
/// two point patterns (1991), with weights.
[[nodiscard]] std::optional<Sim3> fit_similarity(std::span<const WeightedPair> pairs) noexcept;
/// The same; without `with_scale` the best motion of scale 1.
[[nodiscard]] std::optional<Sim3> fit_similarity(const PairMoments& moments, bool with_scale) noexcept;

}  // namespace lingbot_map
