#pragma once

#include "geometry/camera.hpp"
#include "geometry/rigid.hpp"

namespace lingbot_map {

/// A pinhole camera that a picture is drawn for. Axes as everywhere: x right, y down, z forward.
struct View {
  Rigid3 camera_from_world;
  Intrinsics intrinsics;
  int width = 0;   ///< pixels
  int height = 0;  ///< pixels
};

}  // namespace lingbot_map
