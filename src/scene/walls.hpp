#pragma once

#include <vector>

#include "scene/builder.hpp"

namespace lingbot_map::scene {

/// A hole in a wall, along the wall's own coordinate.
struct Opening {
  float middle = 0;
  float width = 1;
  float low = 0;  ///< height of the sill; 0 for a door
  float high = 2.1F;

  [[nodiscard]] float begin() const noexcept { return middle - width / 2; }
  [[nodiscard]] float end() const noexcept { return middle + width / 2; }
};

/// A wall of boxes: `spot` is the middle of its foot and looks along its thickness; it reaches from `begin` to `end`
/// along the spot's right. Openings must be in order and must not overlap.
void build_wall(Builder& build, const Spot& spot, float begin, float end, float height, float thickness,
                const std::vector<Opening>& openings, int material);

/// Boards around an opening; a window gets bars as well.
void build_frame(Builder& build, const Spot& spot, const Opening& opening, float thickness, int material);

/// A closed door in front of a wall, with a frame and a handle; `spot` lies on the wall and looks away from it.
void build_door(Builder& build, const Spot& spot, float width, float height, int door, int frame);

}  // namespace lingbot_map::scene
