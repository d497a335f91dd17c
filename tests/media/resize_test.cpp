#include "media/resize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "encoders.hpp"

namespace lingbot_map {
namespace {

TEST(ResizeBicubic, SameSizeIsTheSameImage) {
  const Image image = test::noise_image(31, 22);
  EXPECT_EQ(resize_bicubic(image, 31, 22).pixels, image.pixels);
}

TEST(ResizeBicubic, FlatStaysFlat) {
  for (const int value : {0, 1, 127, 254, 255}) {
    Image image(50, 37);
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<std::uint8_t>(value));
    for (const auto& [width, height] : {std::pair(7, 5), std::pair(200, 100), std::pair(1, 1), std::pair(50, 90)}) {
      const Image resized = resize_bicubic(image, width, height);
      EXPECT_EQ(std::count(resized.pixels.begin(), resized.pixels.end(), value), width * height * 3);
    }
  }
}

TEST(ResizeBicubic, RowsAreThoseOfTheWholeImage) {
  const Image image = test::noise_image(45, 93);
  for (const auto& [width, height] : {std::pair(30, 61), std::pair(64, 200), std::pair(45, 40), std::pair(20, 93)}) {
    const Image whole = resize_bicubic(image, width, height);
    for (const auto& [first, rows] : {std::pair(0, 1), std::pair(7, 20), std::pair(height - 3, 3)}) {
      const Image part = resize_bicubic(image, width, height, first, rows);
      ASSERT_EQ(part.height, rows);
      EXPECT_TRUE(std::equal(part.pixels.begin(), part.pixels.end(), whole.pixels.begin() + first * width * 3));
    }
  }
}

/// One row, doubled: the taps of the cubic at -1.25, -0.25, 0.75 and 1.75 with a = -0.5, by hand.
TEST(ResizeBicubic, KnownWeights) {
  Image image(8, 1);
  for (int c = 0; c < 3; ++c) image.pixels[static_cast<std::size_t>(3 * 3 + c)] = 255;
  const Image resized = resize_bicubic(image, 16, 1);
  std::vector<int> row;
  for (std::size_t x = 0; x < 16; ++x) row.push_back(resized.pixels[3 * x]);
  // w(1.75) = -0.0234375, w(1.25) = -0.0703125, w(0.75) = 0.2265625, w(0.25) = 0.8671875; below zero is cut off.
  EXPECT_EQ(row, (std::vector<int>{0, 0, 0, 0, 0, 58, 221, 221, 58, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace lingbot_map
