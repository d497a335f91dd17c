#pragma once

#include <cstdint>
#include <vector>

#include "scene/builder.hpp"

namespace lingbot_map::scene {

struct GroundPoint {
  float x = 0;
  float z = 0;
};

struct GroundArea {
  float low_x = 0;
  float low_z = 0;
  float high_x = 0;
  float high_z = 0;
};

/// How a camera moves through a world.
struct Walk {
  enum class Style : std::uint8_t {
    visit,   ///< to free places of the areas, around what stands there
    follow,  ///< along the line, which is free of obstacles
    circle,  ///< around the target, looking at it
  };
  Style style = Style::visit;
  std::vector<GroundArea> areas;
  std::vector<GroundPoint> line;
  bool closed = false;  ///< whether a visit or the line ends where it began and is then gone again
  Float3 target;
  float radius = 2;      ///< metres, of a circle
  float eye = 1.6F;      ///< height above the ground, metres
  float step = 0.09F;    ///< metres a frame, on average
  float corner = 0.4F;   ///< metres over which corners are rounded
  bool vehicle = false;  ///< shakes less, looks ahead
};

struct World {
  Scene scene;
  Walk walk;
};

/// Rooms with furniture, doorways between them and windows.
[[nodiscard]] World make_room(std::uint64_t seed);
/// A corridor with turns, or a ring of corridors.
[[nodiscard]] World make_corridor(std::uint64_t seed);
/// Streets around a block of houses.
[[nodiscard]] World make_street(std::uint64_t seed);
/// A group of things, outdoors, in a hall or on a table.
[[nodiscard]] World make_orbit(std::uint64_t seed);

/// The world of a kind and a seed, finished but for its exposure.
[[nodiscard]] World make_world(SceneKind kind, std::uint64_t seed);

}  // namespace lingbot_map::scene
