#pragma once

#include <span>

#include "geometry/similarity.hpp"

namespace lingbot_map {

/// The similarity to_from_from that takes `from[i]` to `to[i]` with the least sum of squared distances; without
/// `with_scale`, the best one with scale 1. Umeyama, "Least-squares estimation of transformation parameters between two
/// point patterns", IEEE PAMI 13(4), 1991, by fit_similarity(): never a reflection.
///
/// Throws Error(input) when there is no such motion or more than one: fewer than three points, all points of one side
/// in one place, or on one line (the second singular value of the covariance is below 1e-12 of the first), where a turn
/// about it would change nothing; and for points that are not finite. Throws Error(internal) for different numbers of
/// points.
[[nodiscard]] Sim3 umeyama(std::span<const Vec3> from, std::span<const Vec3> to, bool with_scale);

}  // namespace lingbot_map
