#include "geometry/similarity.hpp"

#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

const Mat3 kQuarterAboutZ = {0, -1, 0, 1, 0, 0, 0, 0, 1};  // x becomes y
const Sim3 kMap = {2, kQuarterAboutZ, {10, 20, 30}};

void expect_near(const Vec3& found, const Vec3& expected) {
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << "coordinate " << i;
}

TEST(Sim3, ScalesThenTurnsThenMoves) { expect_near(kMap * Vec3{1, 2, 3}, {10 - 4, 20 + 2, 30 + 6}); }

TEST(Sim3, IsTheIdentityByDefault) { expect_near(Sim3{} * Vec3{1, 2, 3}, {1, 2, 3}); }

TEST(Sim3, ProductsApplyTheRightOneFirst) {
  const Sim3 other = {0.5, {1, 0, 0, 0, 0, -1, 0, 1, 0}, {-1, 4, 2}};
  const Vec3 point = {3, -5, 7};
  expect_near((kMap * other) * point, kMap * (other * point));
  EXPECT_DOUBLE_EQ((kMap * other).scale, 1);
}

TEST(Sim3, InverseTakesEveryPointBack) {
  const Vec3 point = {3, -5, 7};
  expect_near(kMap.inverse() * (kMap * point), point);
  expect_near(kMap * (kMap.inverse() * point), point);
  EXPECT_DOUBLE_EQ(kMap.inverse().scale, 0.5);
}

TEST(Sim3, MovesThePoseOfACamera) {
  const Rigid3 pose = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 2, 3}};
  const Rigid3 moved = kMap * pose;
  expect_near(moved.translation, kMap * pose.translation);
  EXPECT_EQ(moved.rotation, kQuarterAboutZ);
  // A point that the camera sees at depth 1 is at depth 2, the scale, in the mapped world.
  expect_near(moved * Vec3{0, 0, 2}, kMap * (pose * Vec3{0, 0, 1}));
}

}  // namespace
}  // namespace lingbot_map
