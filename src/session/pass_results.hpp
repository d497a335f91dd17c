#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lingbot_map/session.hpp"
#include "model/frame_grid.hpp"

namespace lingbot_map {

/// What a pass over `frames` frames from index `first` on has given, as it comes from the device: float32, of all
/// frames first the pose encodings, then the depth, then its confidence, then with a point head the points and theirs.
/// A field of view is never below zero.
[[nodiscard]] std::vector<FrameResult> results_of(std::span<const std::byte> bytes, std::int64_t first,
                                                  std::int64_t frames, FrameType type, const FrameGrid& grid,
                                                  bool has_points);

/// Bytes of that.
[[nodiscard]] std::size_t result_bytes(std::int64_t frames, const FrameGrid& grid, bool has_points);

}  // namespace lingbot_map
