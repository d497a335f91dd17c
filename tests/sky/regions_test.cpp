#include "sky/regions.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lingbot_map {
namespace {

Image painted(int width, int height, std::uint8_t (*sample)(int x, int y)) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) image.pixels[static_cast<std::size_t>(3 * (y * width + x) + c)] = sample(x, y);
  return image;
}

TEST(Regions, KeepAGradientWhole) {
  const Image image = painted(120, 80, [](int x, int y) { return static_cast<std::uint8_t>(x + y); });
  EXPECT_EQ(divide(image, std::vector<float>(9600)).count, 1);
}

TEST(Regions, PartAtEdgesOfColourAndJumpsOfDepth) {
  const Image halves = painted(60, 40, [](int x, int) { return static_cast<std::uint8_t>(x < 30 ? 50 : 200); });
  const Regions by_colour = divide(halves, std::vector<float>(2400));
  EXPECT_GE(by_colour.count, 2);
  EXPECT_NE(by_colour.labels.front(), by_colour.labels.back());
  EXPECT_EQ(by_colour.labels[0], by_colour.labels[39 * 60]);

  const Image plain = painted(60, 40, [](int, int) { return std::uint8_t{90}; });
  std::vector<float> depth(2400, 1.0F);
  for (std::size_t i = 1200; i < 2400; ++i) depth[i] = 3;
  const Regions by_depth = divide(plain, depth);
  EXPECT_EQ(by_depth.count, 2);
  EXPECT_EQ(by_depth.labels[1199], by_depth.labels[0]);
  EXPECT_EQ(by_depth.labels[1200], by_depth.labels[2399]);
}

TEST(Regions, LeaveNoCrumbs) {
  const Image noise =
      painted(60, 40, [](int x, int y) { return static_cast<std::uint8_t>((x * 7919 + y * 104729) % 251); });
  const Regions regions = divide(noise, std::vector<float>(2400));
  std::vector<int> areas(static_cast<std::size_t>(regions.count));
  for (const std::int32_t label : regions.labels) ++areas[static_cast<std::size_t>(label)];
  EXPECT_GE(*std::min_element(areas.begin(), areas.end()), 24);
}

TEST(Regions, TakeTheSmallestImages) {
  EXPECT_EQ(divide(Image(1, 1), std::vector<float>(1)).count, 1);
  EXPECT_EQ(divide(Image(1, 9), std::vector<float>(9)).count, 1);
  EXPECT_EQ(divide(Image(9, 1), std::vector<float>(9)).count, 1);
}

TEST(Smoothed, IsTheMeanOfWhatIsThere) {
  const Image image = painted(3, 3, [](int x, int y) { return static_cast<std::uint8_t>(x == 1 && y == 1 ? 90 : 0); });
  const Image smooth = smoothed(image);
  EXPECT_EQ(smooth.pixels[0], 23);          // of 4 pixels
  EXPECT_EQ(smooth.pixels[3], 15);          // of 6
  EXPECT_EQ(smooth.pixels[3 * 4 + 1], 10);  // of 9
  EXPECT_EQ(smooth.pixels[3 * 8 + 2], 23);
}

}  // namespace
}  // namespace lingbot_map
