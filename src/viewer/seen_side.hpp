#pragma once

#include <span>
#include <vector>

#include "export/point_cloud.hpp"
#include "geometry/rigid.hpp"

namespace lingbot_map {

/// The points whose seen side faces the viewer: those for which the nearest of `cameras` and `viewer`, both centres in
/// world coordinates, lie on the same side of the plane through the point and across the direction to that camera. Seen
/// from above, a room so loses its ceiling and keeps its floor.
[[nodiscard]] std::vector<ColouredPoint> facing(std::span<const ColouredPoint> points, std::span<const Vec3> cameras,
                                                const Vec3& viewer);

}  // namespace lingbot_map
