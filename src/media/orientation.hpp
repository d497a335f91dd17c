#pragma once

#include "lingbot_map/types.hpp"
#include "media/image_header.hpp"

namespace lingbot_map {

/// EXIF orientation of an image whose stored pixels, turned a quarter clockwise, are upright.
inline constexpr int kOrientationClockwise90 = 6;

/// True for the orientations 5 to 8, which swap width and height.
[[nodiscard]] constexpr bool swaps_sides(int orientation) noexcept { return orientation >= 5; }

/// The size of an image after orient().
[[nodiscard]] constexpr ImageSize oriented_size(ImageSize stored, int orientation) noexcept {
  return swaps_sides(orientation) ? ImageSize{stored.height, stored.width} : stored;
}

/// The upright image for stored pixels of an EXIF orientation from 1 to 8.
[[nodiscard]] Image orient(Image stored, int orientation);

}  // namespace lingbot_map
