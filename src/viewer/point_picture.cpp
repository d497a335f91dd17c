#include "viewer/point_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/message.hpp"
#include "viewer/seen_side.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kMostFrusta = 24;
constexpr double kPathWidth = 2.5;
constexpr double kFrustumWidth = 1.5;
constexpr double kFrustumPixels = 22;  ///< height of a frustum at the middle of the path
constexpr double kEdgeStrength = 18;

void check_options(const PictureOptions& options) {
  for (const int side : {options.width, options.height})
    if (side < 16 || side > 16384)
      fail(ErrorCode::usage, "found a picture of ", options.width, "x", options.height,
           " pixels, expected sides of 16 to 16384");
  if (!(options.point_size > 0) || options.point_size > 1000)
    fail(ErrorCode::usage, "found the point size ", options.point_size, ", expected one above 0, up to 1000 pixels");
  const auto [azimuth, elevation, fov] = options.viewpoint;
  if (!std::isfinite(azimuth) || !(std::abs(elevation) <= 90) || !(fov >= 5 && fov <= 120))
    fail(ErrorCode::usage, "found the view azimuth ", azimuth, ", elevation ", elevation, ", field of view ", fov,
         " degrees, expected an elevation of -90 to 90 and a field of view of 5 to 120");
}

/// Blue over violet to red.
Colour colour_of_time(double share) {
  const auto part = [](double from, double to, double s) {
    return static_cast<std::uint8_t>(std::lround(from + s * (to - from)));
  };
  return {part(30, 225, share), part(110, 35, share), part(235, 40, share)};
}

void draw_frustum(PointCanvas& canvas, const Rigid3& world_from_camera, double size, const Colour& colour) {
  const Vec3& centre = world_from_camera.translation;
  constexpr double kHalfWidth = 0.66;
  constexpr double kHalfHeight = 0.5;
  std::array<Vec3, 4> corners{};
  const double signs[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  for (std::size_t i = 0; i < 4; ++i)
    corners[i] = world_from_camera * Vec3{size * kHalfWidth * signs[i][0], size * kHalfHeight * signs[i][1], size};
  for (std::size_t i = 0; i < 4; ++i) {
    canvas.draw_line(centre, corners[i], kFrustumWidth, colour);
    canvas.draw_line(corners[i], corners[(i + 1) % 4], kFrustumWidth, colour);
  }
}

void draw_cameras(PointCanvas& canvas, const View& view, std::span<const Rigid3> cameras) {
  if (cameras.empty()) return;
  const auto share = [&](std::size_t i) {
    return cameras.size() < 2 ? 0.0 : static_cast<double>(i) / static_cast<double>(cameras.size() - 1);
  };
  for (std::size_t i = 0; i + 1 < cameras.size(); ++i)
    canvas.draw_line(cameras[i].translation, cameras[i + 1].translation, kPathWidth, colour_of_time(share(i)));
  const Vec3 middle = view.camera_from_world * cameras[cameras.size() / 2].translation;
  const double size = kFrustumPixels * std::max(middle[2], 1e-6) / view.intrinsics.fy;
  const std::size_t step = std::max<std::size_t>((cameras.size() + kMostFrusta - 1) / kMostFrusta, 1);
  for (std::size_t i = 0; i < cameras.size(); i += step)
    draw_frustum(canvas, cameras[i], size, colour_of_time(share(i)));
}

}  // namespace

Image point_picture(std::span<const ColouredPoint> points, std::span<const Rigid3> world_from_cameras,
                    const PictureOptions& options) {
  check_options(options);
  const View view = overview(points, world_from_cameras, options.viewpoint, options.width, options.height);
  PointCanvas canvas(view, options.background);

  std::vector<Vec3> centres;
  for (const Rigid3& camera : world_from_cameras) centres.push_back(camera.translation);
  std::vector<ColouredPoint> drawn;
  if (options.see_through_backs) {
    drawn = facing(points, centres, view.camera_from_world.inverse().translation);
    points = drawn;
  }
  for (const ColouredPoint& point : points)
    canvas.draw_point({point.position[0], point.position[1], point.position[2]}, options.point_size / 2, point.colour);
  canvas.shade_edges(kEdgeStrength);
  draw_cameras(canvas, view, world_from_cameras);
  return canvas.image();
}

}  // namespace lingbot_map
