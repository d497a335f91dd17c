#include "scene/world.hpp"

namespace lingbot_map::scene {
namespace {

World unfinished_world(SceneKind kind, std::uint64_t seed) {
  // The same seed of another kind has nothing in common with it.
  const std::uint64_t own = Random(seed * 4 + static_cast<std::uint64_t>(kind) + 0x1234567).bits() ^ seed;
  switch (kind) {
    case SceneKind::room: return make_room(own);
    case SceneKind::corridor: return make_corridor(own);
    case SceneKind::street: return make_street(own);
    default: return make_orbit(own);
  }
}

}  // namespace

World make_world(SceneKind kind, std::uint64_t seed) {
  World world = unfinished_world(kind, seed);
  world.scene.finish();
  return world;
}

}  // namespace lingbot_map::scene
