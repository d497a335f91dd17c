#include "evaluation/umeyama.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "base/message.hpp"
#include "geometry/fit_similarity.hpp"
#include "geometry/svd3.hpp"

namespace lingbot_map {
namespace {

std::vector<WeightedPair> pairs_of(std::span<const Vec3> from, std::span<const Vec3> to) {
  std::vector<WeightedPair> pairs;
  pairs.reserve(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) pairs.push_back({from[i], to[i]});
  return pairs;
}

/// Whether deviations from the mean are no more than rounding of the points themselves.
bool in_one_place(double variance, const Vec3& mean) noexcept {
  constexpr double kRounding = 1e-14;
  return !(std::sqrt(variance) > kRounding * std::hypot(mean[0], mean[1], mean[2]));
}

bool on_one_line(const PairMoments& moments) noexcept {
  constexpr double kLeastRelativeSingularValue = 1e-12;
  const Svd3 svd = svd3(moments.covariance);
  return !(svd.values[1] > kLeastRelativeSingularValue * svd.values[0]);
}

void require_one_answer(const PairMoments& moments) {
  if (!std::isfinite(moments.from_spread) || !std::isfinite(moments.to_spread))
    fail(ErrorCode::input, "alignment: found points that are not finite or too far away, expected finite ones");
  if (in_one_place(moments.from_spread / moments.weight, moments.from) ||
      in_one_place(moments.to_spread / moments.weight, moments.to))
    fail(ErrorCode::input, "alignment: found points that are all in one place, expected some that span a plane");
  if (on_one_line(moments))
    fail(ErrorCode::input,
         "alignment: found points on one straight line, about which any turn fits, expected some that span a plane");
}

}  // namespace

Sim3 umeyama(std::span<const Vec3> from, std::span<const Vec3> to, bool with_scale) {
  check(from.size() == to.size(), "umeyama: ", from.size(), " points to ", to.size());
  if (from.size() < 3) fail(ErrorCode::input, "alignment: found ", from.size(), " pairs of points, expected 3 or more");
  const PairMoments moments = moments_of(pairs_of(from, to));
  require_one_answer(moments);
  const std::optional<Sim3> fit = fit_similarity(moments, with_scale);
  if (!fit) fail(ErrorCode::input, "alignment: found lengths that no scale relates, expected those of one world");
  return *fit;
}

}  // namespace lingbot_map
