#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/frame_grid.hpp"

namespace lingbot_map {

/// Resizes the encoder's trained positions [grid * grid, width] to [rows * columns, width]: bicubic (a = -0.5),
/// antialiased, corners not aligned, as PyTorch's interpolate does it. An axis of unchanged size is the identity.
[[nodiscard]] std::vector<float> resize_positions(std::span<const float> trained, std::int64_t grid, std::int64_t width,
                                                  std::int64_t rows, std::int64_t columns);

/// The depth head's sine code of a map's columns and rows for an image of aspect width/height, times 0.1:
/// `columns` [map width, channels / 2], `rows` [map height, channels / 2].
struct PositionCode {
  std::vector<float> columns;
  std::vector<float> rows;
};
[[nodiscard]] PositionCode position_code(std::int64_t map_width, std::int64_t map_height, std::int64_t channels,
                                         double aspect);

/// cos and sin of the frame blocks' 2D rotary positions, [tokens, 32, 2]: 16 pairs turn with the row, 16 with the
/// column; special tokens are at (0, 0), patch (r, c) at (r + 1, c + 1). Half-split pairs.
[[nodiscard]] std::vector<float> rotary_2d(const FrameGrid& grid);

/// The spatial part of the global blocks' 3D rotary positions, [tokens, 22, 2]: 11 pairs turn with the row, 11 with the
/// column; special token s is at (s, s), patch (r, c) at (specials + r, specials + c). Interleaved pairs.
[[nodiscard]] std::vector<float> rotary_3d_spatial(const FrameGrid& grid);
/// Their temporal part for frames first, first + 1, ...: [count, 10, 2].
[[nodiscard]] std::vector<float> rotary_3d_temporal(std::int64_t first, std::int64_t count);
/// The camera head's rotary positions along time, [count, 64, 2]: 20 pairs turn with the frame, the others stand still.
[[nodiscard]] std::vector<float> rotary_camera(std::int64_t first, std::int64_t count);

}  // namespace lingbot_map
