#include "viewer/seen_side.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "geometry/svd3.hpp"
#include "geometry/vec3.hpp"

namespace lingbot_map {
namespace {

constexpr double kCellsAlong = 160;               ///< of the finest grid
constexpr int kGrids = 5;                         ///< each twice as coarse as the one before
constexpr std::size_t kEnoughPoints = 2'000'000;  ///< to know the planes; the rest of a large cloud is left out
constexpr double kFewest = 12;                    ///< points that make a plane
constexpr double kFlattest = 0.15;                ///< variance across a plane, of the smaller one along it, at most
constexpr std::size_t kMostCameras = 256;         ///< enough to know the side; the rest of a long path is left out

Vec3 position_of(const ColouredPoint& point) { return {point.position[0], point.position[1], point.position[2]}; }

std::vector<Vec3> thinned(std::span<const Vec3> cameras) {
  const std::size_t step = std::max<std::size_t>((cameras.size() + kMostCameras - 1) / kMostCameras, 1);
  std::vector<Vec3> kept;
  for (std::size_t i = 0; i < cameras.size(); i += step) kept.push_back(cameras[i]);
  return kept;
}

const Vec3& nearest(const std::vector<Vec3>& cameras, const Vec3& point) {
  return *std::min_element(cameras.begin(), cameras.end(), [&](const Vec3& a, const Vec3& b) {
    return dot(minus(a, point), minus(a, point)) < dot(minus(b, point), minus(b, point));
  });
}

/// Points that lie in one cell of a grid: first their sums, then the side that is seen of them.
struct Cell {
  double count = 0;
  Vec3 origin{};  ///< the first point; sums are about it
  Vec3 sum{};
  Mat3 squares{};
  std::optional<Vec3> seen_from{};  ///< the plane's normal, towards the nearest camera

  void add(const Vec3& point) {
    if (count == 0) origin = point;
    const Vec3 p = minus(point, origin);
    count += 1;
    for (std::size_t i = 0; i < 3; ++i) {
      sum[i] += p[i];
      for (std::size_t j = 0; j < 3; ++j) squares[3 * i + j] += p[i] * p[j];
    }
  }

  void find_side(const std::vector<Vec3>& cameras) {
    if (count < kFewest) return;
    Vec3 mean{};
    Mat3 covariance{};
    for (std::size_t i = 0; i < 3; ++i) mean[i] = origin[i] + sum[i] / count;
    for (std::size_t i = 0; i < 9; ++i) covariance[i] = squares[i] / count - sum[i / 3] * sum[i % 3] / count / count;
    const Svd3 axes = svd3(covariance);
    if (!(axes.values[2] < kFlattest * axes.values[1])) return;
    Vec3 normal = {axes.u[2], axes.u[5], axes.u[8]};
    if (dot(normal, minus(nearest(cameras, mean), mean)) < 0) normal = {-normal[0], -normal[1], -normal[2]};
    seen_from = normal;
  }
};

/// The edge of a cell: a share of the extent of the bulk of the points, so that stray ones do not count.
double cell_edge(std::span<const ColouredPoint> points) {
  constexpr std::size_t kEnough = 10'000;
  const std::size_t step = std::max<std::size_t>(points.size() / kEnough, 1);
  double extent = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<float> values;
    for (std::size_t i = 0; i < points.size(); i += step) values.push_back(points[i].position[axis]);
    std::sort(values.begin(), values.end());
    const std::size_t cut = values.size() / 50;
    extent = std::max(extent, double{values[values.size() - 1 - cut]} - values[cut]);
  }
  return std::max(extent / kCellsAlong, 1e-12);
}

std::uint64_t cell_of(const Vec3& point, double edge) {
  std::uint64_t key = 0;
  for (const double value : point) {
    const double place = std::clamp(std::floor(value / edge), -1048576.0, 1048575.0);
    key = key << 21 | (static_cast<std::uint64_t>(static_cast<std::int64_t>(place)) & 0x1fffffU);
  }
  return key;
}

/// Planes of a cloud, as far as there are some.
class Surfaces {
 public:
  Surfaces(std::span<const ColouredPoint> points, const std::vector<Vec3>& cameras) : finest_(cell_edge(points)) {
    const std::size_t step = std::max<std::size_t>(points.size() / kEnoughPoints, 1);
    for (std::size_t grid = 0; grid < grids_.size(); ++grid) {
      for (std::size_t i = 0; i < points.size(); i += step) {
        const Vec3 place = position_of(points[i]);
        grids_[grid][cell_of(place, edge(grid))].add(place);
      }
      for (auto& [key, cell] : grids_[grid]) cell.find_side(cameras);
    }
  }

  /// The normal of the finest plane about a point, on the side that was seen.
  [[nodiscard]] std::optional<Vec3> seen_from(const Vec3& place) const {
    for (std::size_t grid = 0; grid < grids_.size(); ++grid) {
      const auto found = grids_[grid].find(cell_of(place, edge(grid)));
      if (found != grids_[grid].end() && found->second.seen_from) return found->second.seen_from;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] double edge(std::size_t grid) const { return std::ldexp(finest_, static_cast<int>(grid)); }

  double finest_;
  std::array<std::unordered_map<std::uint64_t, Cell>, kGrids> grids_;
};

}  // namespace

std::vector<ColouredPoint> facing(std::span<const ColouredPoint> points, std::span<const Vec3> cameras,
                                  const Vec3& viewer) {
  if (cameras.empty() || points.empty()) return {points.begin(), points.end()};
  const std::vector<Vec3> some_cameras = thinned(cameras);
  const Surfaces surfaces(points, some_cameras);
  std::vector<ColouredPoint> kept;
  for (const ColouredPoint& point : points) {
    const Vec3 place = position_of(point);
    std::optional<Vec3> side = surfaces.seen_from(place);
    if (!side) side = minus(nearest(some_cameras, place), place);
    if (dot(*side, minus(viewer, place)) > 0) kept.push_back(point);
  }
  return kept;
}

}  // namespace lingbot_map
