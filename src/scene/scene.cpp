#include "scene/scene.hpp"

#include <algorithm>

namespace lingbot_map::scene {

std::string_view name_of(SceneKind kind) noexcept {
  switch (kind) {
    case SceneKind::room: return "room";
    case SceneKind::corridor: return "corridor";
    case SceneKind::street: return "street";
    default: return "orbit";
  }
}

std::optional<SceneKind> scene_kind(std::string_view name) noexcept {
  for (const SceneKind kind : kSceneKinds)
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

void BoundsList::add(int index, Float3 centre, Float3 half) {
  primitive.push_back(index);
  centre_x.push_back(centre.x);
  centre_y.push_back(centre.y);
  centre_z.push_back(centre.z);
  half_x.push_back(half.x);
  half_y.push_back(half.y);
  half_z.push_back(half.z);
}

void BoundsList::clear() noexcept {
  primitive.clear();
  for (std::vector<float>* list : {&centre_x, &centre_y, &centre_z, &half_x, &half_y, &half_z}) list->clear();
}

void Scene::finish() {
  bounds = {};
  for (Light& light : lights) light.casters = {};
  for (int i = 0; i < static_cast<int>(primitives.size()); ++i) {
    const Primitive& solid = primitives[i];
    const Float3 half = half_bounds(solid);
    bounds.add(i, solid.centre, half);
    if (materials[solid.material].glow > 0) continue;  // lamps let their own light out
    for (Light& light : lights) {
      const Float3 apart = absolute(light.position - solid.centre) - half;
      const Float3 outside = {std::max(apart.x, 0.F), std::max(apart.y, 0.F), std::max(apart.z, 0.F)};
      if (length(outside) < light.reach) light.casters.add(i, solid.centre, half);
    }
  }
}

std::optional<RayHit> cast_ray(const Scene& scene, const Vec3& origin, const Vec3& direction) noexcept {
  std::optional<RayHit> first;
  for (int i = 0; i < static_cast<int>(scene.primitives.size()); ++i) {
    const Interval inside = intersect(scene.primitives[i], origin, direction);
    if (inside.enter <= 0 || inside.enter > inside.leave) continue;
    if (!first || inside.enter < first->t) first = RayHit{inside.enter, i};
  }
  return first;
}

float clearance(const Scene& scene, Float3 point, float limit) noexcept {
  const BoundsList& bounds = scene.bounds;
  for (int i = 0; i < bounds.size(); ++i) {
    if (std::abs(point.x - bounds.centre_x[i]) > bounds.half_x[i] + limit ||
        std::abs(point.y - bounds.centre_y[i]) > bounds.half_y[i] + limit ||
        std::abs(point.z - bounds.centre_z[i]) > bounds.half_z[i] + limit) {
      continue;
    }
    limit = std::min(limit, signed_distance(scene.primitives[i], point));
  }
  return limit;
}

}  // namespace lingbot_map::scene
