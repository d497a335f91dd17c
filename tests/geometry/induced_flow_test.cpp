#include "geometry/induced_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lingbot_map {
namespace {

constexpr int kWidth = 40;
constexpr int kHeight = 24;
constexpr double kFocalX = 30;
constexpr double kFocalY = 32;

PoseEncoding camera(const Vec3& centre, const Mat3& rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}) {
  return encode_camera({rotation, centre}, {kFocalX, kFocalY, kWidth / 2.0, kHeight / 2.0}, kWidth, kHeight);
}

std::vector<float> wall(float depth) { return std::vector<float>(std::size_t{kWidth} * kHeight, depth); }

double flow(const std::vector<float>& depth, const PoseEncoding& view, const PoseEncoding& reference) {
  return mean_induced_flow(depth, kWidth, kHeight, view, reference);
}

TEST(InducedFlow, IsZeroWhereNothingMoved) {
  EXPECT_NEAR(flow(wall(2), camera({1, 2, 3}), camera({1, 2, 3})), 0, 1e-4);
}

TEST(InducedFlow, OfASideStepIsTheParallax) {
  EXPECT_NEAR(flow(wall(2), camera({0.5, 0, 0}), camera({0, 0, 0})), kFocalX * 0.5 / 2, 1e-4);
  EXPECT_NEAR(flow(wall(4), camera({0, -0.5, 0}), camera({0, 0, 0})), kFocalY * 0.5 / 4, 1e-4);
}

TEST(InducedFlow, OfAStepForwardIsRadial) {
  double expected = 0;
  int count = 0;
  for (int v = 0; v < kHeight; v += 8)
    for (int u = 0; u < kWidth; u += 8, ++count)
      expected += std::hypot(u - kWidth / 2.0, v - kHeight / 2.0) * (1 - 2.0 / 3.0);
  EXPECT_EQ(count, 15);
  EXPECT_NEAR(flow(wall(2), camera({0, 0, 1}), camera({0, 0, 0})), expected / count, 1e-4);
}

TEST(InducedFlow, PixelsWithoutDepthDoNotCount) {
  std::vector<float> depth = wall(2);
  depth[0] = 0;
  depth[8] = -1;
  depth[16] = std::numeric_limits<float>::quiet_NaN();
  depth[24] = std::numeric_limits<float>::infinity();
  depth[1] = 1000;  // not on the grid
  EXPECT_NEAR(flow(depth, camera({0.5, 0, 0}), camera({0, 0, 0})), kFocalX * 0.5 / 2, 1e-4);
  EXPECT_EQ(flow(wall(0), camera({0.5, 0, 0}), camera({0, 0, 0})), 0);
  EXPECT_EQ(flow(wall(2), camera({0, 0, -5}), camera({0, 0, 0})), 0) << "all points are behind the reference";
}

TEST(InducedFlow, ViewsWithoutACameraHaveNoFlow) {
  PoseEncoding none = camera({1, 0, 0});
  none[7] = 0;
  EXPECT_EQ(flow(wall(2), none, camera({0, 0, 0})), 0);
  EXPECT_EQ(flow(wall(2), camera({0, 0, 0}), none), 0);
  none = camera({std::numeric_limits<double>::quiet_NaN(), 0, 0});
  EXPECT_EQ(flow(wall(2), none, camera({0, 0, 0})), 0);
  none = camera({1, 0, 0});
  none[3] = none[4] = none[5] = none[6] = 0;
  EXPECT_EQ(flow(wall(2), camera({0, 0, 0}), none), 0);
}

}  // namespace
}  // namespace lingbot_map
