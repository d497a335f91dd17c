#include "geometry/camera.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

namespace lingbot_map {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kRight = std::numbers::pi / 2;

TEST(Intrinsics, FollowFromTheFieldOfView) {
  // 90 degrees: the focal length is half the side. The vertical angle comes first.
  const Intrinsics camera = intrinsics_from_fov(kRight, 2 * std::atan(2.0), 84, 56);
  EXPECT_NEAR(camera.fy, 28, 1e-12);
  EXPECT_NEAR(camera.fx, 21, 1e-12);
  EXPECT_EQ(camera.cx, 42);
  EXPECT_EQ(camera.cy, 28);
  EXPECT_TRUE(camera.usable());
}

TEST(Intrinsics, NoFieldOfViewIsAnInfiniteFocalLengthAndNotUsable) {
  const Intrinsics camera = intrinsics_from_fov(0, kRight, 84, 56);
  EXPECT_EQ(camera.fy, kInfinity);
  EXPECT_FALSE(camera.usable());
  EXPECT_FALSE(intrinsics_from_fov(kNan, kRight, 84, 56).usable());
  EXPECT_FALSE((Intrinsics{0, 1, 1, 1}).usable());
}

TEST(Intrinsics, InPixelsOfTheOriginalPicture) {
  // A picture of 640 x 360, shrunk by four and placed 3 columns right of and 5 rows above the input's corner.
  const OriginalPixels original{640, 360, 4, 4.5, -12, 22.5};
  const Intrinsics camera = in_original_pixels({100, 110, 80, 40}, original);
  EXPECT_EQ(camera.fx, 400);
  EXPECT_EQ(camera.fy, 495);
  EXPECT_EQ(camera.cx, 308);
  EXPECT_EQ(camera.cy, 202.5);
}

TEST(PoseEncoding, IsCameraToWorld) {
  // A camera at (1, 2, 3) turned by 90 degrees about the y axis, so that it looks along +x of the world.
  const auto half = static_cast<float>(std::sqrt(0.5));
  const auto world = world_from_camera({1, 2, 3, 0, half, 0, half, 1, 1});
  ASSERT_TRUE(world);
  EXPECT_EQ(world->translation, (Vec3{1, 2, 3}));
  const Vec3 ahead = *world * Vec3{0, 0, 5};
  EXPECT_NEAR(ahead[0], 6, 1e-6);
  EXPECT_NEAR(ahead[1], 2, 1e-6);
  EXPECT_NEAR(ahead[2], 3, 1e-6);
}

TEST(PoseEncoding, WithoutADirectionOrPlaceHasNoPose) {
  EXPECT_TRUE(world_from_camera({1, 2, 3, 0, 0, 0, 5, kNan, 0}));
  EXPECT_FALSE(world_from_camera({1, 2, 3, 0, 0, 0, 0, 1, 1}));
  EXPECT_FALSE(world_from_camera({1, 2, 3, 0, kNan, 0, 1, 1, 1}));
  EXPECT_FALSE(world_from_camera({1, kNan, 3, 0, 0, 0, 1, 1, 1}));
  EXPECT_FALSE(world_from_camera({1, 2, kInfinity, 0, 0, 0, 1, 1, 1}));
}

TEST(PoseEncoding, RoundTrip) {
  const PoseEncoding encoding = {0.5F, -2, 8, 0.5F, -0.5F, 0.5F, 0.5F, 0.9F, 1.2F};
  const PoseEncoding again = encode_camera(*world_from_camera(encoding), intrinsics_of(encoding, 518, 294), 518, 294);
  for (std::size_t i = 0; i < encoding.size(); ++i) EXPECT_NEAR(again[i], encoding[i], 1e-7) << "entry " << i;
}

TEST(Unproject, ThePrincipalPointLiesStraightAhead) {
  const Intrinsics camera = intrinsics_from_fov(kRight, kRight, 84, 56);
  EXPECT_EQ(unproject(camera, 42, 28, 2), (Vec3{0, 0, 2}));
}

TEST(Unproject, RightAndDownArePositive) {
  const Intrinsics camera{40, 20, 42, 28};
  EXPECT_EQ(unproject(camera, 62, 28, 4), (Vec3{2, 0, 4}));
  EXPECT_EQ(unproject(camera, 42, 38, 4), (Vec3{0, 2, 4}));
  EXPECT_EQ(unproject(camera, 0, 0, 10), (Vec3{-10.5, -14, 10}));
}

}  // namespace
}  // namespace lingbot_map
