#include "media/orientation.hpp"

#include <algorithm>
#include <cstddef>

namespace lingbot_map {

Image orient(Image stored, int orientation) {
  if (orientation == 1) return stored;
  const ImageSize size = oriented_size({stored.width, stored.height}, orientation);
  Image upright(size.width, size.height);

  // Pixel (x, y) of the upright image is stored at first + x * step_x + y * step_y.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto row = static_cast<std::ptrdiff_t>(stored.width) * 3;
  const std::ptrdiff_t across = from_right ? -3 : 3;
  const std::ptrdiff_t down = from_below ? -row : row;
  const std::ptrdiff_t step_x = swaps_sides(orientation) ? down : across;
  const std::ptrdiff_t step_y = swaps_sides(orientation) ? across : down;
  const std::uint8_t* first =
      stored.pixels.data() + (from_right ? row - 3 : 0) + (from_below ? row * (stored.height - 1) : 0);

  constexpr int kTile = 32;  // both images stay in the cache while a tile is turned
  for (int tile_y = 0; tile_y < size.height; tile_y += kTile) {
    for (int tile_x = 0; tile_x < size.width; tile_x += kTile) {
      const int end_x = std::min(tile_x + kTile, size.width);
      const int end_y = std::min(tile_y + kTile, size.height);
      for (int y = tile_y; y < end_y; ++y) {
        std::uint8_t* out = &upright.pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                                             static_cast<std::size_t>(tile_x)) *
                                            3];
        const std::uint8_t* in = first + y * step_y + tile_x * step_x;
        for (int x = tile_x; x < end_x; ++x, out += 3, in += step_x) std::copy_n(in, 3, out);
      }
    }
  }
  return upright;
}

}  // namespace lingbot_map
