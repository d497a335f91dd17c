#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "geometry/rigid.hpp"

namespace lingbot_map {

/// Which cubes of a regular grid hold a point. Memory grows with the cubes that are taken, about 56 bytes each, and
/// with nothing else.
class VoxelGrid {
 public:
  /// `size`: side of a cube, in the unit of the points. Throws Error(usage) unless it is finite and above zero.
  explicit VoxelGrid(double size);

  /// Takes the cube around a point. False if it was taken before, and for points so far out that no cube has a number.
  bool insert(const Vec3& point);
  [[nodiscard]] bool contains(const Vec3& point) const;
  [[nodiscard]] std::size_t size() const noexcept { return taken_.size(); }

 private:
  using Cube = std::array<std::int64_t, 3>;
  struct Hash {
    std::size_t operator()(const Cube& cube) const noexcept;
  };
  /// False where there is no number for it.
  bool cube_of(const Vec3& point, Cube& cube) const noexcept;

  double size_;
  std::unordered_set<Cube, Hash> taken_;
};

}  // namespace lingbot_map
