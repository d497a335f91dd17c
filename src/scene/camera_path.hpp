#pragma once

#include <optional>
#include <vector>

#include "geometry/rigid.hpp"
#include "scene/world.hpp"

namespace lingbot_map::scene {

/// Where the camera is in each frame of a sequence at ten frames a second: world from camera; camera axes x right, y
/// down, z forward.
using CameraPath = std::vector<Rigid3>;

/// A path through a world as people and vehicles take it: along a smooth line at a speed that varies, looking ahead, to
/// a side or around, with the small movements of a hand. It stays clear of solids; a frame turns by less than six
/// degrees. Nothing where the world has no room to walk. `frames` is 1 or more.
[[nodiscard]] std::optional<CameraPath> make_camera_path(const World& world, std::uint64_t seed, int frames);

/// Metres along the camera centres.
[[nodiscard]] double path_length(const CameraPath& path) noexcept;

}  // namespace lingbot_map::scene
