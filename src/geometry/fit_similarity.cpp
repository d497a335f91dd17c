#include "geometry/fit_similarity.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "geometry/svd3.hpp"
#include "geometry/vec3.hpp"

namespace lingbot_map {

PairMoments moments_of(std::span<const WeightedPair> pairs) noexcept {
  PairMoments moments;
  for (const WeightedPair& pair : pairs) {
    moments.weight += pair.weight;
    for (std::size_t i = 0; i < 3; ++i) {
      moments.from[i] += pair.weight * pair.from[i];
      moments.to[i] += pair.weight * pair.to[i];
    }
    if (pair.weight > 0) ++moments.counted;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    moments.from[i] /= moments.weight;
    moments.to[i] /= moments.weight;
  }
  for (const WeightedPair& pair : pairs) {
    const Vec3 from = minus(pair.from, moments.from);
    const Vec3 to = minus(pair.to, moments.to);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) moments.covariance[i * 3 + j] += pair.weight * to[i] * from[j];
    moments.from_spread += pair.weight * dot(from, from);
    moments.to_spread += pair.weight * dot(to, to);
  }
  return moments;
}

std::optional<Sim3> fit_similarity(std::span<const WeightedPair> pairs) noexcept {
  return fit_similarity(moments_of(pairs), true);
}

std::optional<Sim3> fit_similarity(const PairMoments& moments, bool with_scale) noexcept {
  const auto tells = [](double spread) { return std::isfinite(spread) && spread > 0; };
  if (moments.counted < 3 || !tells(moments.from_spread) || !tells(moments.to_spread)) return std::nullopt;
  Sim3 fit{.rotation = nearest_rotation(svd3(moments.covariance))};
  if (with_scale) {
    double aligned = 0;  // sum weight to . (rotation from)
    for (std::size_t i = 0; i < 9; ++i) aligned += fit.rotation[i] * moments.covariance[i];
    fit.scale = aligned / moments.from_spread;
    if (!std::isfinite(fit.scale) || fit.scale <= 0) return std::nullopt;
  }
  fit.translation = minus(moments.to, fit * moments.from);
  return fit;
}

}  // namespace lingbot_map
