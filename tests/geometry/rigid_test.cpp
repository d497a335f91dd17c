#include "geometry/rigid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lingbot_map {
namespace {

const double kHalf = std::sqrt(0.5);

void expect_near(const Vec3& found, const Vec3& expected, double tolerance = 1e-12) {
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "coordinate " << i;
}

void expect_near(const Mat3& found, const Mat3& expected, double tolerance = 1e-12) {
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "entry " << i;
}

void expect_near(const Quaternion& found, const Quaternion& expected, double tolerance = 1e-12) {
  EXPECT_NEAR(found.x, expected.x, tolerance);
  EXPECT_NEAR(found.y, expected.y, tolerance);
  EXPECT_NEAR(found.z, expected.z, tolerance);
  EXPECT_NEAR(found.w, expected.w, tolerance);
}

TEST(Rotation, QuarterTurnsGoRoundTheirAxesByTheRightHand) {
  // About x: y becomes z. About y: z becomes x. About z: x becomes y.
  expect_near(*rotation_from_quaternion({kHalf, 0, 0, kHalf}), {1, 0, 0, 0, 0, -1, 0, 1, 0});
  expect_near(*rotation_from_quaternion({0, kHalf, 0, kHalf}), {0, 0, 1, 0, 1, 0, -1, 0, 0});
  expect_near(*rotation_from_quaternion({0, 0, kHalf, kHalf}), {0, -1, 0, 1, 0, 0, 0, 0, 1});
}

TEST(Rotation, LengthOfTheQuaternionDoesNotMatter) {
  const Mat3 unit = *rotation_from_quaternion({0.1, -0.5, 0.7, std::sqrt(0.25)});
  for (const double scale : {1e-30, 0.01, 3.0, -1.0, 1e30})
    expect_near(*rotation_from_quaternion({0.1 * scale, -0.5 * scale, 0.7 * scale, 0.5 * scale}), unit);
}

TEST(Rotation, QuaternionsWithoutADirectionHaveNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(rotation_from_quaternion({0, 0, 0, 0}));
  EXPECT_FALSE(rotation_from_quaternion({0, 0, 0, 1e-200}));
  EXPECT_FALSE(rotation_from_quaternion({1e200, 0, 0, 0}));
  EXPECT_FALSE(rotation_from_quaternion({kNan, 0, 0, 1}));
  EXPECT_FALSE(rotation_from_quaternion({0, kInfinity, 0, 1}));
  EXPECT_TRUE(rotation_from_quaternion({0, 0, std::numeric_limits<float>::denorm_min(), 0}));
  EXPECT_TRUE(rotation_from_quaternion({0, 0, std::numeric_limits<float>::max(), 0}));
}

TEST(Rotation, BackToQuaternionWhicheverComponentIsLargest) {
  expect_near(quaternion_from_rotation({1, 0, 0, 0, 1, 0, 0, 0, 1}), {0, 0, 0, 1});
  // Half turns, where w is zero and the other three candidates are the only ones.
  expect_near(quaternion_from_rotation({1, 0, 0, 0, -1, 0, 0, 0, -1}), {1, 0, 0, 0});
  expect_near(quaternion_from_rotation({-1, 0, 0, 0, 1, 0, 0, 0, -1}), {0, 1, 0, 0});
  expect_near(quaternion_from_rotation({-1, 0, 0, 0, -1, 0, 0, 0, 1}), {0, 0, 1, 0});
  for (const Quaternion q :
       {Quaternion{0.1, 0.2, 0.4, 0.8}, {0.8, -0.1, 0.4, 0.2}, {0.1, 0.8, 0.4, 0.2}, {-0.4, 0.2, 0.8, 0.1}}) {
    const double length = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    expect_near(quaternion_from_rotation(*rotation_from_quaternion(q)),
                {q.x / length, q.y / length, q.z / length, q.w / length});
  }
}

TEST(Rotation, BackToQuaternionWithPositiveW) {
  expect_near(quaternion_from_rotation(*rotation_from_quaternion({0.8, 0.1, -0.4, -0.4})),
              quaternion_from_rotation(*rotation_from_quaternion({-0.8, -0.1, 0.4, 0.4})));
  EXPECT_GT(quaternion_from_rotation(*rotation_from_quaternion({0.8, 0.1, -0.4, -0.4})).w, 0);
}

TEST(Rotation, RoundTripOfRandomRotations) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 2000; ++i) {
    const Mat3 rotation = *rotation_from_quaternion({normal(random), normal(random), normal(random), normal(random)});
    const Quaternion q = quaternion_from_rotation(rotation);
    EXPECT_NEAR(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w, 1, 1e-14);
    EXPECT_GE(q.w, 0);
    expect_near(*rotation_from_quaternion(q), rotation, 1e-14);
  }
}

TEST(Rigid3, MovesPoints) {
  const Rigid3 world_from_camera{*rotation_from_quaternion({0, 0, kHalf, kHalf}), {10, 20, 30}};
  expect_near(world_from_camera * Vec3{1, 2, 3}, {10 - 2, 20 + 1, 30 + 3});
  expect_near(Rigid3{} * Vec3{1, 2, 3}, {1, 2, 3});
}

TEST(Rigid3, InverseMovesBack) {
  const Rigid3 world_from_camera{*rotation_from_quaternion({0.3, -0.2, 0.5, 0.7}), {10, -20, 30}};
  const Rigid3 camera_from_world = world_from_camera.inverse();
  expect_near(camera_from_world * (world_from_camera * Vec3{1, 2, 3}), {1, 2, 3});
  expect_near(camera_from_world * world_from_camera.translation, {0, 0, 0});
}

TEST(Rigid3, ProductAppliesTheRightOneFirst) {
  const Rigid3 turn{*rotation_from_quaternion({0, 0, kHalf, kHalf}), {0, 0, 0}};
  const Rigid3 shift{Rigid3{}.rotation, {1, 0, 0}};
  expect_near((turn * shift) * Vec3{0, 0, 0}, {0, 1, 0});
  expect_near((shift * turn) * Vec3{0, 0, 0}, {1, 0, 0});
  const Rigid3 motion{*rotation_from_quaternion({0.3, -0.2, 0.5, 0.7}), {10, -20, 30}};
  const Rigid3 identity = motion * motion.inverse();
  expect_near(identity.rotation, Rigid3{}.rotation);
  expect_near(identity.translation, {0, 0, 0});
}

}  // namespace
}  // namespace lingbot_map
