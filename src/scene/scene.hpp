#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scene/material.hpp"
#include "scene/primitive.hpp"

namespace lingbot_map::scene {

enum class SceneKind : std::uint8_t { room, corridor, street, orbit };
inline constexpr SceneKind kSceneKinds[] = {SceneKind::room, SceneKind::corridor, SceneKind::street, SceneKind::orbit};
[[nodiscard]] std::string_view name_of(SceneKind kind) noexcept;
/// Reads "room", "corridor", "street" or "orbit". Nothing for any other word.
[[nodiscard]] std::optional<SceneKind> scene_kind(std::string_view name) noexcept;

/// Bounds along the world's axes of some primitives, laid out for testing many at once.
struct BoundsList {
  std::vector<int> primitive;
  std::vector<float> centre_x, centre_y, centre_z;
  std::vector<float> half_x, half_y, half_z;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(primitive.size()); }
  void add(int index, Float3 centre, Float3 half);
  void clear() noexcept;
};

/// A light at a point. The sun is one far away.
struct Light {
  Float3 position;
  Colour colour;         ///< times 1 / (1 + (distance / fade)^2)
  float fade = 1;        ///< metres
  float reach = 10;      ///< metres after which it has no effect
  float spread = 0.03F;  ///< metres that a shadow's edge gains for each metre from what casts it
  BoundsList casters;    ///< primitives within reach, made by Scene::finish
};

/// What is seen where there is nothing, and the light that comes from everywhere.
struct Sky {
  Colour zenith{0.2F, 0.4F, 0.8F};
  Colour horizon{0.7F, 0.8F, 0.9F};
  Colour cloud{0.9F, 0.9F, 0.9F};
  float cloudiness = 0.5F;
  Float3 sun_direction{0, -1, 0};
  Colour sun_glow{};
  Colour ambient_above{0.4F, 0.4F, 0.4F};  ///< on surfaces that face up
  Colour ambient_below{0.3F, 0.3F, 0.3F};
  float haze = 1e6F;  ///< metres after which half of the light is the horizon's
  std::uint32_t seed = 0;
};

/// A generated world: solids, their surfaces, lights and sky. Metres; x right, y down, z forward; the ground is near
/// y = 0. Constant once finished, and may be drawn by any number of threads.
struct Scene {
  std::vector<Primitive> primitives;
  std::vector<Material> materials;
  std::vector<Light> lights;
  Sky sky;
  float exposure = 1;
  BoundsList bounds;  ///< of all primitives, made by finish()

  /// Makes what is derived from primitives and lights.
  void finish();
};

/// What a ray meets first.
struct RayHit {
  double t = 0;  ///< in lengths of the direction
  int primitive = 0;
};
/// The first solid along a ray, in double precision; a check and a measure, not fast. `direction` of any length.
[[nodiscard]] std::optional<RayHit> cast_ray(const Scene& scene, const Vec3& origin, const Vec3& direction) noexcept;

/// Distance in metres from a point to the nearest solid, but at most `limit`.
[[nodiscard]] float clearance(const Scene& scene, Float3 point, float limit) noexcept;

}  // namespace lingbot_map::scene
