#include "sky/sky_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

TEST(SkyPicture, ShowsFrameMaskAndOverlaySideBySide) {
  Image image(2, 2);
  image.pixels = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120};
  const SkyMask mask{.width = 2, .height = 2, .pixels = {SkyMask::kSky, SkyMask::kKeep, SkyMask::kKeep, SkyMask::kSky}};
  const Image picture = sky_picture(image, mask);
  EXPECT_EQ(picture.width, 6);
  EXPECT_EQ(picture.height, 2);
  // 0.35 * 10 + 0.65 * 255 = 169.25, 0.35 * 20 + 0.65 * 64 = 48.6, 52.1; 200.75, 80.1, 83.6
  EXPECT_THAT(picture.pixels,
              testing::ElementsAre(10, 20, 30, 40, 50, 60, 0, 0, 0, 255, 255, 255, 169, 49, 52, 40, 50, 60,  //
                                   70, 80, 90, 100, 110, 120, 255, 255, 255, 0, 0, 0, 70, 80, 90, 201, 80, 84));
}

}  // namespace
}  // namespace lingbot_map
