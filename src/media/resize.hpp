#pragma once

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// Rows [first_row, first_row + rows) of the image resized to width x height: bicubic (a = -0.5) with antialiasing, in
/// the 8-bit arithmetic of Pillow, byte for byte: weights normalised in double and rounded to 22 fractional bits,
/// horizontal pass first, each pass rounded to 8 bits, a pass that would not change the size skipped. All arguments
/// positive, the rows inside the height.
[[nodiscard]] Image resize_bicubic(const Image& image, int width, int height, int first_row, int rows);

/// The whole resized image.
[[nodiscard]] Image resize_bicubic(const Image& image, int width, int height);

}  // namespace lingbot_map
