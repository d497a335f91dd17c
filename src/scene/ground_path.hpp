#pragma once

#include <optional>
#include <vector>

#include "scene/world.hpp"

namespace lingbot_map::scene {

/// Metres between the points of a ground path.
inline constexpr double kPathSpacing = 0.05;

/// A smooth path over the ground, as points kPathSpacing apart along it; nearer where it turns back on itself.
struct GroundPath {
  std::vector<double> x;
  std::vector<double> z;
};

/// A path of at least `length` metres for a walk of style visit or follow. Nothing where the world has no room for one.
[[nodiscard]] std::optional<GroundPath> ground_path(const World& world, Random& random, double length);

}  // namespace lingbot_map::scene
