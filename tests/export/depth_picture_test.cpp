#include "export/depth_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::array<int, 3> colour_of(const Image& picture, int pixel) {
  return {picture.pixels[3 * pixel], picture.pixels[3 * pixel + 1], picture.pixels[3 * pixel + 2]};
}

TEST(Gray16, IsThousandthsRoundedAndSaturated) {
  const std::vector<float> values = {0, 1, 0.0005F, 1.2344F, 1.2346F, 65.535F, 65.6F, 1e30F};
  EXPECT_THAT(gray16(values), ElementsAre(0, 1000, 1, 1234, 1235, 65535, 65535, 65535));
}

TEST(Gray16, HasAValueForEverything) {
  const std::vector<float> values = {-1, kNan, kInfinity, -kInfinity};
  EXPECT_THAT(gray16(values), ElementsAre(0, 0, 65535, 0));
}

TEST(DepthPicture, GoesFromRedForNearToBlueForFar) {
  const Image picture = depth_picture(std::vector<float>{1, 1.5F, 2, 4, 8, 20}, 3, 2);
  EXPECT_EQ(picture.width, 3);
  EXPECT_EQ(picture.height, 2);
  const auto near = colour_of(picture, 0);
  const auto far = colour_of(picture, 5);
  EXPECT_GT(near[0], 2 * near[2]);
  EXPECT_GT(far[2], far[0]);
}

TEST(DepthPicture, ASingleOutlierDoesNotTakeTheScale) {
  std::vector<float> depth(1000);
  for (int i = 0; i < 1000; ++i) depth[i] = 1 + static_cast<float>(i) / 1000;
  const Image before = depth_picture(depth, 100, 10);
  depth[999] = 1e-6F;
  const Image after = depth_picture(depth, 100, 10);
  for (int channel = 0; channel < 3; ++channel)
    EXPECT_NEAR(colour_of(after, 500)[channel], colour_of(before, 500)[channel], 3);
}

TEST(DepthPicture, WhatHasNoDepthIsBlack) {
  const Image picture = depth_picture(std::vector<float>{1, kNan, kInfinity, 0, -1, 3}, 6, 1);
  for (const int pixel : {1, 2, 3, 4}) EXPECT_THAT(colour_of(picture, pixel), ElementsAre(0, 0, 0)) << pixel;
  EXPECT_THAT(depth_picture(std::vector<float>{kNan, kNan}, 2, 1).pixels, testing::Each(0));
  EXPECT_TRUE(depth_picture({}, 0, 0).empty());
}

TEST(DepthPicture, ConstantDepthHasOneColour) {
  const Image picture = depth_picture(std::vector<float>(4, 2.5F), 2, 2);
  EXPECT_EQ(colour_of(picture, 0), colour_of(picture, 3));
  EXPECT_NE(colour_of(picture, 0), (std::array<int, 3>{0, 0, 0}));
}

TEST(ConfidencePicture, GoesFromBlueForLowToRedForHigh) {
  const Image picture = confidence_picture(std::vector<float>{1, 2, 4, 8}, 4, 1);
  EXPECT_GT(colour_of(picture, 0)[2], colour_of(picture, 0)[0]);
  EXPECT_GT(colour_of(picture, 3)[0], 2 * colour_of(picture, 3)[2]);
}

TEST(DepthPicture, RefusesAnotherSize) {
  test::expect_error(
      ErrorCode::internal, [] { (void)depth_picture(std::vector<float>(5), 2, 2); }, testing::HasSubstr("2 x 2"));
}

}  // namespace
}  // namespace lingbot_map
