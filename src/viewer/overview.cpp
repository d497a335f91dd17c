#include "viewer/overview.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/message.hpp"
#include "geometry/vec3.hpp"

namespace lingbot_map {
namespace {

constexpr double kMargin = 1.06;  ///< room around what must be seen

Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vec3 operator*(double s, const Vec3& a) { return {s * a[0], s * a[1], s * a[2]}; }
/// `fallback` where the vector has no direction.
Vec3 direction(const Vec3& a, const Vec3& fallback) {
  const double length = std::sqrt(dot(a, a));
  return length > 1e-9 ? (1 / length) * a : fallback;
}
Vec3 column(const Mat3& m, std::size_t i) { return {m[i], m[3 + i], m[6 + i]}; }
double radians(double degrees) { return degrees * std::numbers::pi / 180; }

/// The mean direction of one axis of the cameras.
Vec3 mean_axis(std::span<const Rigid3> cameras, std::size_t axis, const Vec3& fallback) {
  Vec3 sum{};
  for (const Rigid3& camera : cameras) sum = sum + column(camera.rotation, axis);
  return direction(sum, fallback);
}

/// Right, down and forward of a camera that looks down on the scene.
Mat3 looking(std::span<const Rigid3> cameras, const Viewpoint& viewpoint) {
  const Vec3 down = mean_axis(cameras, 1, {0, 1, 0});
  const Vec3 seen = mean_axis(cameras, 2, {0, 0, 1});
  const Vec3 aside = direction(cross(down, {0.36, 0.48, 0.8}), {1, 0, 0});
  const Vec3 level = direction(seen + (-dot(seen, down)) * down, aside);
  const Vec3 side = cross(down, level);  // right of `level`
  const double azimuth = radians(viewpoint.azimuth_degrees);
  const double elevation = radians(viewpoint.elevation_degrees);
  const Vec3 ahead = std::cos(azimuth) * level + std::sin(azimuth) * side;
  const Vec3 forward = std::cos(elevation) * ahead + std::sin(elevation) * down;
  const Vec3 right = cross(down, ahead);
  const Vec3 below = cross(forward, right);
  return {right[0], right[1], right[2], below[0], below[1], below[2], forward[0], forward[1], forward[2]};
}

/// What must be seen, in axes of the view.
std::vector<Vec3> to_be_seen(std::span<const ColouredPoint> points, std::span<const Rigid3> cameras,
                             const Mat3& view_from_world) {
  constexpr std::size_t kEnough = 100'000;
  const Rigid3 turn{view_from_world, {}};
  std::vector<Vec3> turned;
  const std::size_t step = std::max<std::size_t>(points.size() / kEnough, 1);
  for (std::size_t i = 0; i < points.size(); i += step) {
    const std::array<float, 3>& p = points[i].position;
    turned.push_back(turn * Vec3{p[0], p[1], p[2]});
  }
  for (std::size_t axis = 0; axis < 3 && !turned.empty(); ++axis) {
    std::vector<double> values;
    for (const Vec3& point : turned) values.push_back(point[axis]);
    std::sort(values.begin(), values.end());
    const double low = values[values.size() * 2 / 100];
    const double high = values[values.size() - 1 - values.size() * 2 / 100];
    std::erase_if(turned, [&](const Vec3& point) { return point[axis] < low || point[axis] > high; });
  }
  for (const Rigid3& camera : cameras) turned.push_back(turn * camera.translation);
  return turned;
}

/// How far before the scene's front the camera must stand, and where, so that all is within the picture: for each pair
/// of opposite borders the two points that touch them decide.
Vec3 standpoint(const std::vector<Vec3>& seen, double tan_x, double tan_y) {
  const auto extreme = [&seen](std::size_t axis, double slope, double sign) {
    double value = -1e300;
    for (const Vec3& point : seen) value = std::max(value, sign * point[axis] - slope * point[2]);
    return value;
  };
  const auto fit = [&](std::size_t axis, double slope) {  // {position across, depth at which both borders touch}
    const double high = extreme(axis, slope, 1);
    const double low = extreme(axis, slope, -1);
    return std::array{(high - low) / 2, -(high + low) / 2 / slope};
  };
  const auto [x, depth_x] = fit(0, tan_x);
  const auto [y, depth_y] = fit(1, tan_y);
  return {x, y, std::min(depth_x, depth_y)};
}

}  // namespace

View overview(std::span<const ColouredPoint> points, std::span<const Rigid3> world_from_cameras,
              const Viewpoint& viewpoint, int width, int height) {
  if (points.empty() && world_from_cameras.empty())
    fail(ErrorCode::input, "found neither points nor cameras to look at, expected one at least");
  const Mat3 view_from_world = looking(world_from_cameras, viewpoint);
  const std::vector<Vec3> seen = to_be_seen(points, world_from_cameras, view_from_world);
  const double half_width = std::tan(radians(viewpoint.fov_degrees) / 2);
  Vec3 stand = standpoint(seen, half_width / kMargin, half_width * height / width / kMargin);
  double front = 1e300;
  for (const Vec3& point : seen) front = std::min(front, point[2]);
  // A single point, or a line along the view, needs a distance all the same.
  const double least = std::max(1e-3, 1e-3 * std::abs(front));
  stand[2] = std::min(stand[2], front - least);

  View view;
  view.camera_from_world = {view_from_world, {-stand[0], -stand[1], -stand[2]}};
  const double focal = width / 2.0 / half_width;
  view.intrinsics = {focal, focal, width / 2.0, height / 2.0};
  view.width = width;
  view.height = height;
  return view;
}

}  // namespace lingbot_map
