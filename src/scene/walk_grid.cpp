#include "scene/walk_grid.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace lingbot_map::scene {
namespace {

constexpr float kKnee = 0.25F;
constexpr float kAboveEye = 0.15F;
constexpr int kHeights = 4;

}  // namespace

WalkGrid::WalkGrid(const Scene& scene, const std::vector<GroundArea>& areas, float eye) : area_(areas.front()) {
  for (const GroundArea& area : areas) {
    area_.low_x = std::min(area_.low_x, area.low_x);
    area_.low_z = std::min(area_.low_z, area.low_z);
    area_.high_x = std::max(area_.high_x, area.high_x);
    area_.high_z = std::max(area_.high_z, area.high_z);
  }
  columns_ = static_cast<int>((area_.high_x - area_.low_x) / kCell) + 1;
  rows_ = static_cast<int>((area_.high_z - area_.low_z) / kCell) + 1;
  clearance_.assign(static_cast<std::size_t>(columns_) * rows_, kFarthest);
  for (const Primitive& solid : scene.primitives) keep_away(solid, eye);
}

void WalkGrid::keep_away(const Primitive& solid, float eye) {
  const Float3 half = half_bounds(solid);
  const float top = -(solid.centre.y - half.y);
  const float bottom = -(solid.centre.y + half.y);
  if (top < kKnee || bottom > eye + kAboveEye) return;
  const auto range = [](float low, float high, float origin, int count) {
    return std::pair{std::max(static_cast<int>((low - origin) / kCell) - 1, 0),
                     std::min(static_cast<int>((high - origin) / kCell) + 1, count - 1)};
  };
  const auto [first_x, last_x] =
      range(solid.centre.x - half.x - kFarthest, solid.centre.x + half.x + kFarthest, area_.low_x, columns_);
  const auto [first_z, last_z] =
      range(solid.centre.z - half.z - kFarthest, solid.centre.z + half.z + kFarthest, area_.low_z, rows_);
  const float low = std::max(bottom, kKnee);
  const float high = std::min(top, eye + kAboveEye);
  for (int row = first_z; row <= last_z; ++row) {
    for (int column = first_x; column <= last_x; ++column) {
      const int cell = row * columns_ + column;
      const GroundPoint p = point_of(cell);
      for (int i = 0; i < kHeights; ++i) {
        const float height = low + (high - low) * static_cast<float>(i) / (kHeights - 1);
        clearance_[cell] = std::min(clearance_[cell], signed_distance(solid, {p.x, -height, p.z}));
      }
    }
  }
}

int WalkGrid::cell_of(GroundPoint point) const noexcept {
  const int column = static_cast<int>(std::lround((point.x - area_.low_x) / kCell));
  const int row = static_cast<int>(std::lround((point.z - area_.low_z) / kCell));
  return column < 0 || row < 0 || column >= columns_ || row >= rows_ ? -1 : row * columns_ + column;
}

GroundPoint WalkGrid::point_of(int cell) const noexcept {
  return {area_.low_x + static_cast<float>(cell % columns_) * kCell,
          area_.low_z + static_cast<float>(cell / columns_) * kCell};
}

float WalkGrid::clearance(GroundPoint point) const noexcept {
  const int cell = cell_of(point);
  return cell < 0 ? 0 : clearance_[cell];
}

std::vector<GroundPoint> WalkGrid::way(GroundPoint from, GroundPoint to, float least) const {
  const int start = cell_of(from);
  const int goal = cell_of(to);
  if (start < 0 || goal < 0) return {};
  constexpr float kUnknown = 1e30F;
  std::vector<float> cost(clearance_.size(), kUnknown);
  std::vector<int> before(clearance_.size(), -1);
  using Entry = std::pair<float, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  cost[start] = 0;
  open.push({0, start});
  while (!open.empty()) {
    const auto [reached, cell] = open.top();
    open.pop();
    if (reached > cost[cell]) continue;
    if (cell == goal) break;
    const int column = cell % columns_;
    const int row = cell / columns_;
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dx = -1; dx <= 1; ++dx) {
        if ((dx == 0 && dz == 0) || column + dx < 0 || column + dx >= columns_ || row + dz < 0 || row + dz >= rows_) {
          continue;
        }
        const int next = (row + dz) * columns_ + column + dx;
        if (clearance_[next] < least) continue;
        const float narrow = 1 - clearance_[next] / kFarthest;
        const float step = (dx != 0 && dz != 0 ? 1.41421356F : 1) * (1 + 4 * narrow * narrow);
        if (reached + step >= cost[next]) continue;
        cost[next] = reached + step;
        before[next] = cell;
        open.push({cost[next], next});
      }
    }
  }
  if (before[goal] < 0 && goal != start) return {};
  std::vector<GroundPoint> points;
  for (int cell = goal; cell >= 0; cell = before[cell]) points.push_back(point_of(cell));
  std::ranges::reverse(points);
  return points;
}

}  // namespace lingbot_map::scene
