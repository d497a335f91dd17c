#pragma once

#include <vector>

#include "scene/world.hpp"

namespace lingbot_map::scene {

/// The free ground of a world as a grid: for each cell the distance to whatever stands there, between knee and eye.
class WalkGrid {
 public:
  /// Of the rectangle around `areas`.
  WalkGrid(const Scene& scene, const std::vector<GroundArea>& areas, float eye);

  /// Metres from a point to the nearest solid, as of its cell, but at most kFarthest; 0 outside of the grid.
  [[nodiscard]] float clearance(GroundPoint point) const noexcept;
  /// The shortest way that keeps `least` metres away from solids, and rather more; both ends included. Empty if there
  /// is none.
  [[nodiscard]] std::vector<GroundPoint> way(GroundPoint from, GroundPoint to, float least) const;

  static constexpr float kFarthest = 0.8F;

 private:
  static constexpr float kCell = 0.12F;

  void keep_away(const Primitive& solid, float eye);
  [[nodiscard]] int cell_of(GroundPoint point) const noexcept;
  [[nodiscard]] GroundPoint point_of(int cell) const noexcept;

  GroundArea area_;
  int columns_ = 0;
  int rows_ = 0;
  std::vector<float> clearance_;
};

}  // namespace lingbot_map::scene
