#include "media/orientation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "encoders.hpp"

namespace lingbot_map {
namespace {

/// Two rows of three pixels, a b c / d e f, as letters.
std::string letters(const Image& image) {
  std::string text;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      text += static_cast<char>(image.pixels[static_cast<std::size_t>(y * image.width + x) * 3]);
    }
    text += '/';
  }
  return text;
}

TEST(Orient, AllEight) {
  Image image(3, 2);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>('a' + i / 3);
  const std::vector<std::string> expected = {"abc/def/",  "cba/fed/",  "fed/cba/",  "def/abc/",
                                             "ad/be/cf/", "da/eb/fc/", "fc/eb/da/", "cf/be/ad/"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    EXPECT_EQ(letters(orient(image, orientation)), expected[static_cast<std::size_t>(orientation - 1)]) << orientation;
  }
}

TEST(Orient, FourQuarterTurnsAreNone) {
  const Image image = test::noise_image(70, 41);
  Image turned = image;
  for (int i = 0; i < 4; ++i) turned = orient(std::move(turned), kOrientationClockwise90);
  EXPECT_EQ(turned.pixels, image.pixels);
}

}  // namespace
}  // namespace lingbot_map
