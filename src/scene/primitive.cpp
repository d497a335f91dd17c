#include "scene/primitive.hpp"

#include <algorithm>
#include <limits>

namespace lingbot_map::scene {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Interval both(const Interval& a, const Interval& b) { return {std::max(a.enter, b.enter), std::min(a.leave, b.leave)}; }

Interval slab(double origin, double direction) {
  if (direction == 0) return std::abs(origin) <= 1 ? Interval{-kInfinity, kInfinity} : Interval{};
  const double a = (-1 - origin) / direction;
  const double b = (1 - origin) / direction;
  return {std::min(a, b), std::max(a, b)};
}

/// Where a t^2 + 2 b t + c <= 0, for a > 0.
Interval between_roots(double a, double b, double c) {
  const double discriminant = b * b - a * c;
  if (discriminant < 0) return {};
  const double root = std::sqrt(discriminant);
  return {(-b - root) / a, (-b + root) / a};
}

Interval meet_cylinder(const Vec3& o, const Vec3& d) {
  const double a = d[0] * d[0] + d[2] * d[2];
  const double c = o[0] * o[0] + o[2] * o[2] - 1;
  if (a == 0) return c <= 0 ? slab(o[1], d[1]) : Interval{};
  return both(slab(o[1], d[1]), between_roots(a, o[0] * d[0] + o[2] * d[2], c));
}

Interval meet_cone(const Vec3& o, const Vec3& d) {
  const double w = 1 - o[1];  // twice the radius at the height of the origin
  const double a = d[0] * d[0] + d[2] * d[2] - d[1] * d[1] / 4;
  const double b = o[0] * d[0] + o[2] * d[2] + w * d[1] / 4;
  const double c = o[0] * o[0] + o[2] * o[2] - w * w / 4;
  const Interval within = slab(o[1], d[1]);
  if (a > 0) return both(within, between_roots(a, b, c));
  // Steeper than the cone: inside it on one side of both roots, where the radius grows.
  const double discriminant = b * b - a * c;
  if (a == 0 || discriminant < 0) return c <= 0 ? within : Interval{};
  const double root = std::sqrt(discriminant);
  const double first = (-b + root) / a;
  const double second = (-b - root) / a;
  return both(within, d[1] < 0 ? Interval{second, kInfinity} : Interval{-kInfinity, first});
}

}  // namespace

Float3 half_bounds(const Primitive& solid) noexcept {
  return absolute(solid.axes[0]) * solid.half.x + absolute(solid.axes[1]) * solid.half.y +
         absolute(solid.axes[2]) * solid.half.z;
}

float signed_distance(const Primitive& solid, Float3 point) noexcept {
  const Float3 way = point - solid.centre;
  const Float3 p = {dot(way, solid.axes[0]), dot(way, solid.axes[1]), dot(way, solid.axes[2])};
  const Float3& half = solid.half;
  const auto corner = [](float a, float b) {
    return std::hypot(std::max(a, 0.F), std::max(b, 0.F)) + std::min(std::max(a, b), 0.F);
  };
  switch (solid.shape) {
    case Shape::box: {
      const Float3 d = absolute(p) - half;
      return length({std::max(d.x, 0.F), std::max(d.y, 0.F), std::max(d.z, 0.F)}) +
             std::min(std::max({d.x, d.y, d.z}), 0.F);
    }
    case Shape::cylinder: return corner(std::hypot(p.x, p.z) - std::max(half.x, half.z), std::abs(p.y) - half.y);
    case Shape::ball: {
      const float least = std::min({half.x, half.y, half.z});
      return (length({p.x / half.x, p.y / half.y, p.z / half.z}) - 1) * least;
    }
    default: {
      const float radius = std::max(half.x, half.z);
      const float slant = 2 * half.y / std::hypot(radius, 2 * half.y);
      const float beside = (std::hypot(p.x, p.z) - radius * (1 - p.y / half.y) / 2) * slant;
      return std::max(beside, std::abs(p.y) - half.y);
    }
  }
}

Interval intersect(const Primitive& solid, const Vec3& origin, const Vec3& direction) noexcept {
  const std::array<double, 3> half = {solid.half.x, solid.half.y, solid.half.z};
  const Vec3 way = {origin[0] - solid.centre.x, origin[1] - solid.centre.y, origin[2] - solid.centre.z};
  Vec3 o{};
  Vec3 d{};
  for (int i = 0; i < 3; ++i) {
    const Float3& axis = solid.axes[i];
    o[i] = (way[0] * axis.x + way[1] * axis.y + way[2] * axis.z) / half[i];
    d[i] = (direction[0] * axis.x + direction[1] * axis.y + direction[2] * axis.z) / half[i];
  }
  switch (solid.shape) {
    case Shape::box: return both(both(slab(o[0], d[0]), slab(o[1], d[1])), slab(o[2], d[2]));
    case Shape::cylinder: return meet_cylinder(o, d);
    case Shape::ball:
      return between_roots(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], o[0] * d[0] + o[1] * d[1] + o[2] * d[2],
                           o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - 1);
    default: return meet_cone(o, d);
  }
}

}  // namespace lingbot_map::scene
