#pragma once

#include <span>

#include "export/point_cloud.hpp"
#include "lingbot_map/types.hpp"
#include "viewer/overview.hpp"
#include "viewer/point_canvas.hpp"

namespace lingbot_map {

struct PictureOptions {
  int width = 1280;  ///< pixels
  int height = 720;  ///< pixels
  Viewpoint viewpoint{};
  double point_size = 2;  ///< diameter of a point in pixels
  Colour background = {255, 255, 255};
  bool see_through_backs = true;  ///< points are drawn from the side that cameras saw only: ceilings do not hide rooms
};

/// A picture of a point cloud with the cameras that made it: their path, blue at its start and red at its end, and up
/// to 24 of them as frusta. `world_from_cameras` in the order of time. Throws Error(usage) on sizes below 16 or above
/// 16384 pixels, Error(input) when there is nothing to draw.
[[nodiscard]] Image point_picture(std::span<const ColouredPoint> points, std::span<const Rigid3> world_from_cameras,
                                  const PictureOptions& options);

}  // namespace lingbot_map
