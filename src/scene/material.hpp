#pragma once

#include <cstdint>

#include "scene/vector.hpp"

namespace lingbot_map::scene {

/// Linear RGB, 0 to 1.
using Colour = Float3;

/// How a surface is painted. All are functions of a place on the surface, filtered over the footprint of a pixel, so
/// that they neither flicker nor alias; far away each becomes its mean colour.
enum class Pattern : std::uint8_t {
  plain,
  checks,
  stripes,
  plaid,
  bricks,    ///< rows shifted by half a brick, with mortar
  tiles,     ///< rows in line, with joints
  planks,    ///< long boards with grain
  marble,    ///< veins
  clouds,    ///< noise of several octaves
  speckles,  ///< dots
  picture,   ///< shapes at random over the whole face; every primitive another picture
  facade,    ///< rows of windows over the whole face
};

/// A surface. Colours are mixed by the pattern.
struct Material {
  Pattern pattern = Pattern::plain;
  Colour base{0.6F, 0.6F, 0.6F};
  Colour second{0.4F, 0.4F, 0.4F};
  Colour third{0.2F, 0.2F, 0.2F};
  float width = 0.5F;      ///< metres of a period along the surface's first direction
  float height = 0.5F;     ///< metres of a period along the second
  float line = 0.05F;      ///< share of a period that joints, stripes or frames take
  float variation = 0.2F;  ///< of the brightness from brick to brick, and of stains
  float gloss = 0;         ///< strength of highlights
  float glow = 0;          ///< light that it gives itself
  bool turned = false;     ///< first and second direction change places
  std::uint32_t seed = 0;
};

}  // namespace lingbot_map::scene
