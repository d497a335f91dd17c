#include "media/resize_bilinear.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoders.hpp"

namespace lingbot_map {
namespace {

TEST(ResizeBilinear, KeepsAnImageOfTheSameSize) {
  const Image image = test::noise_image(17, 9);
  EXPECT_EQ(resize_bilinear(image, 17, 9).pixels, image.pixels);
}

TEST(ResizeBilinear, InterpolatesBetweenCentres) {
  const FloatMap map{.width = 2, .height = 1, .values = {0, 1}};
  const FloatMap wide = resize_bilinear(map, 4, 3);
  EXPECT_EQ(wide.width, 4);
  EXPECT_EQ(wide.height, 3);
  for (std::size_t row = 0; row < 3; ++row)
    EXPECT_THAT(std::vector<float>(wide.values.begin() + 4 * row, wide.values.begin() + 4 * (row + 1)),
                testing::ElementsAre(0, 0.25F, 0.75F, 1));
}

TEST(ResizeBilinear, TreatsChannelsAlike) {
  Image image(2, 2);
  image.pixels = {0, 100, 200, 100, 200, 0, 0, 100, 200, 100, 200, 0};
  const Image small = resize_bilinear(image, 1, 1);
  EXPECT_THAT(small.pixels, testing::ElementsAre(50, 150, 100));
}

}  // namespace
}  // namespace lingbot_map
