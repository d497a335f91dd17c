#include "viewer/seen_side.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace lingbot_map {
namespace {

constexpr std::size_t kMostCameras = 256;  ///< enough to know the side; the rest of a long path is left out

std::vector<std::array<float, 3>> thinned(std::span<const Vec3> cameras) {
  const std::size_t step = std::max<std::size_t>((cameras.size() + kMostCameras - 1) / kMostCameras, 1);
  std::vector<std::array<float, 3>> kept;
  for (std::size_t i = 0; i < cameras.size(); i += step)
    kept.push_back(
        {static_cast<float>(cameras[i][0]), static_cast<float>(cameras[i][1]), static_cast<float>(cameras[i][2])});
  return kept;
}

}  // namespace

std::vector<ColouredPoint> facing(std::span<const ColouredPoint> points, std::span<const Vec3> cameras,
                                  const Vec3& viewer) {
  if (cameras.empty()) return {points.begin(), points.end()};
  const std::vector<std::array<float, 3>> near_ones = thinned(cameras);
  std::vector<ColouredPoint> kept;
  for (const ColouredPoint& point : points) {
    std::array<float, 3> to_camera{};
    float nearest = std::numeric_limits<float>::infinity();
    for (const std::array<float, 3>& camera : near_ones) {
      const std::array<float, 3> way = {camera[0] - point.position[0], camera[1] - point.position[1],
                                        camera[2] - point.position[2]};
      const float distance = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
      if (distance < nearest) {
        nearest = distance;
        to_camera = way;
      }
    }
    double same_side = 0;
    for (std::size_t i = 0; i < 3; ++i) same_side += to_camera[i] * (viewer[i] - point.position[i]);
    if (same_side > 0) kept.push_back(point);
  }
  return kept;
}

}  // namespace lingbot_map
