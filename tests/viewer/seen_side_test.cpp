#include "viewer/seen_side.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

using testing::ElementsAre;

TEST(SeenSide, LosesTheCeilingSeenFromAbove) {
  const ColouredPoint ceiling{{0, -2, 3}, {1, 1, 1}};  // y is down
  const ColouredPoint floor{{0, 1, 3}, {2, 2, 2}};
  const std::vector<Vec3> cameras = {{0, 0, 0}, {0, 0, 3}, {0, 0, 6}};
  EXPECT_THAT(facing(std::vector{ceiling, floor}, cameras, {0, -20, -2}), ElementsAre(floor));
  EXPECT_THAT(facing(std::vector{ceiling, floor}, cameras, {0, 20, 3}), ElementsAre(ceiling));
  EXPECT_THAT(facing(std::vector{ceiling, floor}, cameras, {0, 0, 1}), ElementsAre(ceiling, floor));
}

TEST(SeenSide, AsksTheNearestCamera) {
  const ColouredPoint wall{{5, 0, 10}, {}};
  const std::vector<Vec3> cameras = {{0, 0, 0}, {6, 0, 10}};  // the second one is on the wall's other side
  EXPECT_THAT(facing(std::vector{wall}, cameras, {20, 0, 10}), ElementsAre(wall));
  EXPECT_THAT(facing(std::vector{wall}, cameras, {-20, 0, 10}), ElementsAre());
}

/// A floor at y = 1 or a ceiling at y = -1, 8 m wide and long.
std::vector<ColouredPoint> plane(float y) {
  std::vector<ColouredPoint> points;
  for (int i = 0; i < 400; ++i)
    for (int j = 0; j < 400; ++j)
      points.push_back({{0.02F * static_cast<float>(i - 200), y, 0.02F * static_cast<float>(j - 200)}, {}});
  return points;
}

TEST(SeenSide, TakesASurfaceForWhatItIs) {
  // Far from the camera the direction to it says little of the surface.
  const std::vector<Vec3> cameras = {{0, 0, 0}};
  for (const float y : {1.F, -1.F}) {
    const auto points = plane(y);
    EXPECT_EQ(facing(points, cameras, {-3, -0.9 * y, 3}).size(), points.size());
    EXPECT_EQ(facing(points, cameras, {-3, 2.0 * y, 3}).size(), 0U);
    EXPECT_EQ(facing(points, cameras, {30, 2.0 * y, 30}).size(), 0U);
  }
}

TEST(SeenSide, TakesAnyNumberOfCameras) {
  const ColouredPoint point{{0, 0, 1}, {}};
  EXPECT_THAT(facing(std::vector{point}, {}, {0, 0, 5}), ElementsAre(point));
  std::vector<Vec3> cameras(10'000, Vec3{0, 0, 0});
  EXPECT_THAT(facing(std::vector{point}, cameras, {0, 0, 5}), ElementsAre());
  EXPECT_THAT(facing(std::vector{point}, cameras, {0, 0, -5}), ElementsAre(point));
}

}  // namespace
}  // namespace lingbot_map
