#pragma once

#include <span>
#include <vector>

#include "export/point_cloud.hpp"
#include "geometry/rigid.hpp"

namespace lingbot_map {

/// The points whose seen side faces the viewer. A point's surface is the plane that fits it and its neighbours in the
/// finest of a few grids (1/160 to 1/10 of the cloud's extent) where there is one, and its seen side the one on which
/// the nearest of `cameras` (centres in world coordinates) is; where neighbours make no plane, the direction to that
/// camera stands for the plane's normal. Seen from above, a room so loses its ceiling and keeps its floor. Without
/// cameras, all points.
[[nodiscard]] std::vector<ColouredPoint> facing(std::span<const ColouredPoint> points, std::span<const Vec3> cameras,
                                                const Vec3& viewer);

}  // namespace lingbot_map
