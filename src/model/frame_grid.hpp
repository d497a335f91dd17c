#pragma once

#include <cstdint>

#include "base/message.hpp"
#include "lingbot_map/config.hpp"

namespace lingbot_map {

/// How a frame of some pixel size is cut into tokens.
struct FrameGrid {
  std::int64_t width = 0;    ///< pixels
  std::int64_t height = 0;   ///< pixels
  std::int64_t columns = 0;  ///< patches across
  std::int64_t rows = 0;     ///< patches down
  std::int64_t specials = 0;

  /// Throws Error(usage) when a side is not a positive multiple of the patch size.
  FrameGrid(const Config& config, int pixel_width, int pixel_height)
      : width(pixel_width),
        height(pixel_height),
        columns(pixel_width / config.patch_size),
        rows(pixel_height / config.patch_size),
        specials(config.special_tokens()) {
    if (columns < 1 || rows < 1 || width % config.patch_size != 0 || height % config.patch_size != 0) {
      fail(ErrorCode::usage, "a frame of ", width, "x", height,
           " pixels: expected sides that are positive multiples of ", config.patch_size);
    }
  }

  [[nodiscard]] std::int64_t patches() const noexcept { return columns * rows; }
  /// Tokens of a frame in the aggregator: special tokens, then patches row by row.
  [[nodiscard]] std::int64_t tokens() const noexcept { return specials + patches(); }
};

}  // namespace lingbot_map
