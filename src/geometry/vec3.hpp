#pragma once

#include <cmath>

#include "geometry/rigid.hpp"

namespace lingbot_map {

// Arithmetic of vectors and points that more than one source needs.

[[nodiscard]] inline Vec3 minus(const Vec3& a, const Vec3& b) noexcept {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
[[nodiscard]] inline double dot(const Vec3& a, const Vec3& b) noexcept {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
[[nodiscard]] inline Vec3 cross(const Vec3& a, const Vec3& b) noexcept {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
/// Without overflow or underflow on the way.
[[nodiscard]] inline double distance(const Vec3& a, const Vec3& b) noexcept {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

}  // namespace lingbot_map
