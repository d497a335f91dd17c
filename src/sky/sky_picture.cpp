#include "sky/sky_picture.hpp"

#include <array>
#include <cmath>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

constexpr std::array<double, 3> kSkyColour = {255, 64, 64};
constexpr double kSkyColourShare = 0.65;

std::uint8_t mixed(std::uint8_t sample, double with) {
  return static_cast<std::uint8_t>(std::lround(std::lerp(static_cast<double>(sample), with, kSkyColourShare)));
}

}  // namespace

Image sky_picture(const Image& image, const SkyMask& mask) {
  check(image.width == mask.width && image.height == mask.height, "a sky mask of ", mask.width, " x ", mask.height,
        " for a frame of ", image.width, " x ", image.height);
  Image picture(3 * image.width, image.height);
  const auto width = static_cast<std::size_t>(image.width);
  for (std::size_t pixel = 0; pixel < mask.pixels.size(); ++pixel) {
    const std::uint8_t* const rgb = &image.pixels[3 * pixel];
    std::uint8_t* const out = &picture.pixels[3 * (pixel / width * 3 * width + pixel % width)];
    for (std::size_t c = 0; c < 3; ++c) {
      out[c] = rgb[c];
      out[3 * width + c] = mask.pixels[pixel];
      out[6 * width + c] = mask.is_sky(pixel) ? mixed(rgb[c], kSkyColour[c]) : rgb[c];
    }
  }
  return picture;
}

}  // namespace lingbot_map
