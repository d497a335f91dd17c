#include "evaluation/umeyama.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "geometry/svd3.hpp"

namespace lingbot_map {
namespace {

constexpr double kLeastRelativeSingularValue = 1e-12;

Vec3 mean_of(std::span<const Vec3> points) noexcept {
  Vec3 sum{};
  for (const Vec3& point : points)
    for (std::size_t i = 0; i < 3; ++i) sum[i] += point[i];
  const auto count = static_cast<double>(points.size());
  return {sum[0] / count, sum[1] / count, sum[2] / count};
}

/// What two sets of points are to each other around their means.
struct Moments {
  double variance_from = 0;
  double variance_to = 0;
  Mat3 covariance{};  ///< of to (rows) with from (columns)
};

Moments moments_of(std::span<const Vec3> from, const Vec3& mean_from, std::span<const Vec3> to, const Vec3& mean_to) {
  Moments sums;
  for (std::size_t n = 0; n < from.size(); ++n) {
    for (std::size_t row = 0; row < 3; ++row) {
      const double y = to[n][row] - mean_to[row];
      const double x = from[n][row] - mean_from[row];
      sums.variance_from += x * x;
      sums.variance_to += y * y;
      for (std::size_t column = 0; column < 3; ++column)
        sums.covariance[row * 3 + column] += y * (from[n][column] - mean_from[column]);
    }
  }
  const auto count = static_cast<double>(from.size());
  for (double& entry : sums.covariance) entry /= count;
  sums.variance_from /= count;
  sums.variance_to /= count;
  return sums;
}

/// Whether deviations from the mean are no more than rounding of the points themselves.
bool in_one_place(double variance, const Vec3& mean) noexcept {
  constexpr double kRounding = 1e-14;
  return !(std::sqrt(variance) > kRounding * std::hypot(mean[0], mean[1], mean[2]));
}

}  // namespace

Sim3 umeyama(std::span<const Vec3> from, std::span<const Vec3> to, bool with_scale) {
  check(from.size() == to.size(), "umeyama: ", from.size(), " points to ", to.size());
  if (from.size() < 3) fail(ErrorCode::input, "alignment: found ", from.size(), " pairs of points, expected 3 or more");

  const Vec3 mean_from = mean_of(from);
  const Vec3 mean_to = mean_of(to);
  const Moments moments = moments_of(from, mean_from, to, mean_to);
  if (!std::isfinite(moments.variance_from) || !std::isfinite(moments.variance_to))
    fail(ErrorCode::input, "alignment: found points that are not finite or too far away, expected finite ones");
  if (in_one_place(moments.variance_from, mean_from) || in_one_place(moments.variance_to, mean_to))
    fail(ErrorCode::input, "alignment: found points that are all in one place, expected some that span a plane");

  const Svd3 svd = svd3(moments.covariance);
  if (!(svd.values[1] > kLeastRelativeSingularValue * svd.values[0]))
    fail(ErrorCode::input,
         "alignment: found points on one straight line, about which any turn fits, expected some that span a plane");

  Sim3 aligned;
  aligned.rotation = nearest_rotation(svd);
  if (with_scale) {
    const double handedness = determinant(svd.u) * determinant(svd.v) < 0 ? -1 : 1;
    aligned.scale = (svd.values[0] + svd.values[1] + handedness * svd.values[2]) / moments.variance_from;
  }
  const Vec3 turned = Sim3{aligned.scale, aligned.rotation, {}} * mean_from;
  for (std::size_t i = 0; i < 3; ++i) aligned.translation[i] = mean_to[i] - turned[i];
  return aligned;
}

}  // namespace lingbot_map
