#include "export/voxel_grid.hpp"

#include <cmath>

#include "base/message.hpp"

namespace lingbot_map {

VoxelGrid::VoxelGrid(double size) : size_(size) {
  if (!std::isfinite(size) || size <= 0)
    fail(ErrorCode::usage, "found the voxel size ", size, ", expected a finite number above 0");
}

std::size_t VoxelGrid::Hash::operator()(const Cube& cube) const noexcept {
  // Coordinates of neighbours differ in their lowest bits: each is spread over the word before the next is added.
  std::uint64_t hash = 0;
  for (const std::int64_t coordinate : cube) {
    hash = (hash ^ static_cast<std::uint64_t>(coordinate)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

bool VoxelGrid::cube_of(const Vec3& point, Cube& cube) const noexcept {
  constexpr double kMost = 9e18;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double number = std::floor(point[axis] / size_);
    if (!(std::abs(number) < kMost)) return false;
    cube[axis] = static_cast<std::int64_t>(number);
  }
  return true;
}

bool VoxelGrid::insert(const Vec3& point) {
  Cube cube{};
  return cube_of(point, cube) && taken_.insert(cube).second;
}

bool VoxelGrid::contains(const Vec3& point) const {
  Cube cube{};
  return cube_of(point, cube) && taken_.contains(cube);
}

}  // namespace lingbot_map
