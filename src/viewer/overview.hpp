#pragma once

#include <span>
#include <vector>

#include "export/point_cloud.hpp"
#include "viewer/view.hpp"

namespace lingbot_map {

/// From where a scene is looked at.
struct Viewpoint {
  double azimuth_degrees = 25;    ///< turned about the vertical, from behind the mean viewing direction of the cameras
  double elevation_degrees = 40;  ///< above the horizontal; 90 looks straight down
  double fov_degrees = 45;        ///< horizontal field of view of the picture
};

/// A view that holds all cameras and the bulk of the points (what lies within the 2nd and 98th percentile of each
/// axis). The vertical is the mean of the cameras' up directions. Needs a camera or a point; throws Error(input) when
/// there is neither.
[[nodiscard]] View overview(std::span<const ColouredPoint> points, std::span<const Rigid3> world_from_cameras,
                            const Viewpoint& viewpoint, int width, int height);

}  // namespace lingbot_map
