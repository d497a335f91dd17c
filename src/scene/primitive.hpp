#pragma once

#include <array>
#include <cstdint>

#include "scene/vector.hpp"

namespace lingbot_map::scene {

/// Solids, in their own coordinates: the cube from -1 to 1; the cylinder of radius 1 about the second axis from -1 to
/// 1; the ball of radius 1; the cone with its tip at 1 on the second axis and its base of radius 1 at -1.
enum class Shape : std::uint8_t { box, cylinder, ball, cone };

/// A convex solid in the world: its own coordinates times half sizes along three orthonormal axes. Seen from outside
/// alone: a ray that begins inside does not meet it.
struct Primitive {
  Shape shape = Shape::box;
  int material = 0;
  Float3 centre;
  Float3 half;                 ///< half sizes in metres along the axes
  std::array<Float3, 3> axes;  ///< orthonormal, in world coordinates; the second is "up" for all that stands
};

/// Half sizes of the box along the world's axes that holds the solid.
[[nodiscard]] Float3 half_bounds(const Primitive& solid) noexcept;

/// Distance in metres from a point to the surface, negative inside. Exact for boxes, cylinders and round balls; for
/// cones and flattened balls never more than the true distance.
[[nodiscard]] float signed_distance(const Primitive& solid, Float3 point) noexcept;

/// Where the line origin + t * direction is inside the solid; enter > leave where it is not.
struct Interval {
  double enter = 1;
  double leave = 0;
};
/// In double precision; the renderer has a float version for many rays.
[[nodiscard]] Interval intersect(const Primitive& solid, const Vec3& origin, const Vec3& direction) noexcept;

}  // namespace lingbot_map::scene
