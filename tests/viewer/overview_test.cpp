#include "viewer/overview.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

struct Seen {
  double u, v, depth;
};
Seen seen(const View& view, const Vec3& point) {
  const Vec3 p = view.camera_from_world * point;
  return {view.intrinsics.fx * p[0] / p[2] + view.intrinsics.cx, view.intrinsics.fy * p[1] / p[2] + view.intrinsics.cy,
          p[2]};
}

Rigid3 camera_at(const Vec3& centre) { return {{1, 0, 0, 0, 1, 0, 0, 0, 1}, centre}; }

std::vector<ColouredPoint> box(const std::array<float, 3>& size, int count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> share(-0.5F, 0.5F);
  std::vector<ColouredPoint> points(static_cast<std::size_t>(count));
  for (ColouredPoint& point : points)
    for (std::size_t i = 0; i < 3; ++i) point.position[i] = size[i] * share(random) + 7;
  return points;
}

TEST(Overview, HoldsTheCamerasAndTheBulkOfThePoints) {
  const std::vector<ColouredPoint> points = box({4, 1, 9}, 20'000);
  const std::vector<Rigid3> cameras = {camera_at({0, 0, 0}), camera_at({9, 5, 20})};
  for (const double azimuth : {-120.0, 0.0, 25.0, 90.0})
    for (const double elevation : {-30.0, 0.0, 40.0, 90.0}) {
      const View view = overview(points, cameras, {azimuth, elevation, 60}, 640, 360);
      int inside = 0;
      double left = 1e9;
      double right = -1e9;
      double top = 1e9;
      double bottom = -1e9;
      const auto look = [&](const Vec3& point) {
        const auto [u, v, depth] = seen(view, point);
        left = std::min(left, u);
        right = std::max(right, u);
        top = std::min(top, v);
        bottom = std::max(bottom, v);
        return depth > 0 && u >= 0 && u <= 640 && v >= 0 && v <= 360;
      };
      for (const ColouredPoint& point : points)
        inside += look({point.position[0], point.position[1], point.position[2]});
      EXPECT_GT(inside, 17'000) << azimuth << " " << elevation;
      for (const Rigid3& camera : cameras) EXPECT_TRUE(look(camera.translation)) << azimuth << " " << elevation;
      EXPECT_TRUE(right - left > 0.7 * 640 || bottom - top > 0.7 * 360) << "the picture is hardly filled";
    }
}

TEST(Overview, LooksDownFromBehind) {
  const std::vector<Rigid3> cameras = {camera_at({0, 0, 0}), camera_at({0, 0, 1}), camera_at({0, 0, 2})};
  const View view = overview({}, cameras, {0, 30, 45}, 640, 360);
  const Vec3 viewer = view.camera_from_world.inverse().translation;
  EXPECT_NEAR(viewer[0], 0, 1e-9);
  EXPECT_LT(viewer[1], 0);  // above
  EXPECT_LT(viewer[2], 0);  // behind
  const Vec3 up_there = view.camera_from_world * Vec3{0, -1, 1};
  const Vec3 down_there = view.camera_from_world * Vec3{0, 1, 1};
  EXPECT_LT(up_there[1], down_there[1]);
  const Vec3 to_the_right = view.camera_from_world * Vec3{1, 0, 1};
  EXPECT_GT(to_the_right[0], 0.9);
}

TEST(Overview, IgnoresStrayPoints) {
  std::vector<ColouredPoint> points = box({4, 4, 4}, 10'000);
  const View calm = overview(points, {}, {}, 640, 360);
  for (int i = 0; i < 50; ++i) points.push_back({{1e6F, -1e6F, 1e6F}, {}});
  const View view = overview(points, {}, {}, 640, 360);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(view.camera_from_world.translation[i], calm.camera_from_world.translation[i], 0.5);
}

TEST(Overview, TakesTheSmallestScenes) {
  for (const View& view : {overview({}, std::vector{camera_at({3, 4, 5})}, {}, 640, 360),
                           overview(std::vector{ColouredPoint{{3, 4, 5}, {}}}, {}, {}, 640, 360)}) {
    const auto [u, v, depth] = seen(view, {3, 4, 5});
    EXPECT_NEAR(u, 320, 1e-6);
    EXPECT_NEAR(v, 180, 1e-6);
    EXPECT_GT(depth, 0);
  }
  test::expect_error(
      ErrorCode::input, [] { static_cast<void>(overview({}, {}, {}, 640, 360)); },
      testing::HasSubstr("neither points nor cameras"));
}

TEST(Overview, TakesCamerasThatLookEverywhere) {
  const Rigid3 ahead = camera_at({0, 0, 0});
  const Rigid3 back{{-1, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0, 3}};
  const Rigid3 upside_down{{1, 0, 0, 0, -1, 0, 0, 0, -1}, {1, 0, 0}};
  for (const auto& cameras : {std::vector{ahead, back}, std::vector{ahead, upside_down}}) {
    const View view = overview({}, cameras, {}, 640, 360);
    for (const double value : view.camera_from_world.rotation) EXPECT_TRUE(std::isfinite(value));
    EXPECT_GT(seen(view, cameras[0].translation).depth, 0);
  }
}

}  // namespace
}  // namespace lingbot_map
