#pragma once

#include <cstdint>

#include "scene/scene.hpp"

namespace lingbot_map::scene {

/// A picture to be drawn.
struct Drawing {
  const Scene* scene = nullptr;
  Vec3 origin{};  ///< of the camera, in the world
  Float3 right;   ///< the camera's axes, in the world
  Float3 down;
  Float3 forward;
  float fx = 1;  ///< pixels
  float fy = 1;
  float cx = 0;
  float cy = 0;
  int width = 0;
  int height = 0;
  std::uint8_t* rgb = nullptr;  ///< [height, width, 3]
  float* depth = nullptr;       ///< [height, width]
};

/// The same function for different instruction sets, with the same result to the bit: none uses operations that only
/// some of them have. All work on squares of 8 x 8 pixels. Primitives outside a square's pyramid are left out by their
/// bounds, many at a time; the others meet all of its rays at once. The same machinery serves shadows, as pyramids of
/// rays that begin at a light. Pixels at the border of two surfaces are drawn again with four rays each.
void draw_generic(const Drawing& drawing);
void draw_avx2(const Drawing& drawing);
void draw_avx512(const Drawing& drawing);

}  // namespace lingbot_map::scene
