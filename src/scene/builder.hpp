#pragma once

#include <cstdint>

#include "scene/palette.hpp"
#include "scene/random.hpp"
#include "scene/scene.hpp"

namespace lingbot_map::scene {

/// A place on the ground with a direction: things are built in its coordinates, right, up and forward, in metres.
struct Spot {
  float x = 0;
  float z = 0;
  float yaw = 0;   ///< radians; 0 looks along the world's z, a quarter turn along its x
  float base = 0;  ///< height above the ground

  /// The spot that lies at (right, forward) of this one, turned further.
  [[nodiscard]] Spot beside(float right, float forward, float turn = 0, float up = 0) const noexcept;
};

/// The point of the world at `place` (right, up, forward) of a spot.
[[nodiscard]] Float3 world_point(const Spot& spot, Float3 place) noexcept;

/// Puts solids into a scene. Sizes are whole sizes (right, up, forward); places are those of the middle of the base.
class Builder {
 public:
  explicit Builder(std::uint64_t seed) : random(seed) {}

  [[nodiscard]] int material(const Material& material);
  void box(const Spot& spot, Float3 place, Float3 size, int material, float turn = 0);
  /// A box turned about its middle: by `turn` about the vertical, then leaning by `lean` about its own right axis.
  void leaning_box(const Spot& spot, Float3 place, Float3 size, int material, float turn, float lean);
  void cylinder(const Spot& spot, Float3 place, float radius, float height, int material);
  /// A cylinder that lies along the spot's right axis turned by `turn`; `place` is its middle.
  void lying_cylinder(const Spot& spot, Float3 place, float radius, float length, int material, float turn = 0);
  void cone(const Spot& spot, Float3 place, float radius, float height, int material);
  /// `place` is the middle, `half` the half sizes.
  void ball(const Spot& spot, Float3 place, Float3 half, int material);
  void light(Float3 position, Colour colour, float fade, float reach, float spread);
  /// A light 300 m away. `direction` leads to it.
  void sun(Float3 direction, Colour colour);
  /// A sky of some time of day, its ambient light and, if the sun is out, the sun. Returns whether it is.
  bool weather(float brightness);

  Random random;
  Scene scene;

 private:
  void add(Shape shape, Float3 centre, Float3 half, const Spot& spot, float turn, int material);
};

}  // namespace lingbot_map::scene
