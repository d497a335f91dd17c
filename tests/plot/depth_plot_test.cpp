#include "plot/depth_plot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace lingbot_map {
namespace {

/// Near on the left, far on the right, no depth in the upper quarter.
DepthMap ramp(int width, int height, float factor) {
  DepthMap map{width, height, {}};
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column)
      map.values.push_back(
          4 * row < height ? 0 : factor * (1 + 9.F * static_cast<float>(column) / static_cast<float>(width)));
  return map;
}

std::array<int, 3> pixel(const Image& image, int column, int row) {
  const std::uint8_t* rgb = &image.pixels[3 * static_cast<std::size_t>(row * image.width + column)];
  return {rgb[0], rgb[1], rgb[2]};
}

constexpr int kLeft = 96;
constexpr int kTop = 30;
constexpr int kWidth = 220;
constexpr int kHeight = 165;  // of cells for maps of 4 to 3
constexpr int kGap = 8;

TEST(DepthPlot, ShowsTruthEstimateAndDifference) {
  const std::vector<DepthComparison> frames = {{"frame 0", ramp(80, 60, 1), ramp(160, 120, 1)},
                                               {"frame 7", ramp(80, 60, 1.25F), ramp(80, 60, 1)}};
  const Image image = draw_depth(frames);
  ASSERT_EQ(image.width, kLeft + 2 * (kWidth + kGap));
  ASSERT_EQ(image.height, kTop + 3 * (kHeight + kGap));
  const int low = kTop + kHeight - 10;
  const auto near = pixel(image, kLeft + 3, low);
  const auto far = pixel(image, kLeft + kWidth - 3, low);
  EXPECT_GT(near[0], near[2] + 80) << "near is red";
  EXPECT_GT(far[2], far[0]) << "far is blue";
  EXPECT_EQ(pixel(image, kLeft + 50, kTop + 10), (std::array{0, 0, 0})) << "no depth";

  const int difference = low + 2 * (kHeight + kGap);
  const auto none = pixel(image, kLeft + 120, difference);
  EXPECT_LT(none[0] + none[1] + none[2], 60);
  const auto quarter = pixel(image, kLeft + kWidth + kGap + 120, difference);  // half of the scale
  EXPECT_GT(quarter[0], 200);
  EXPECT_LT(quarter[2], 60);
  EXPECT_EQ(pixel(image, kLeft + 50, kTop + 10 + 2 * (kHeight + kGap)), (std::array{128, 128, 128}));
}

TEST(DepthPlot, TakesSixOfManyFrames) {
  std::vector<DepthComparison> frames;
  for (int i = 0; i < 40; ++i) frames.push_back({"frame", ramp(8, 6, 1), ramp(8, 6, 1)});
  EXPECT_EQ(draw_depth(frames).width, kLeft + 6 * (kWidth + kGap));
}

TEST(DepthPlot, TakesMapsWithoutAnyDepth) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DepthMap nothing{2, 1, {nan, -1}};
  const DepthMap flat{2, 1, {3, 3}};
  const Image image =
      draw_depth(std::vector<DepthComparison>{{"a", nothing, nothing}, {"b", flat, nothing}, {"c", flat, flat}});
  EXPECT_EQ(pixel(image, kLeft + 5, kTop + 5), (std::array{0, 0, 0}));
}

}  // namespace
}  // namespace lingbot_map
