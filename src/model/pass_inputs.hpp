#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/two_stream_cache.hpp"
#include "model/frame_grid.hpp"
#include "tensor/buffer.hpp"

namespace lingbot_map {

/// What differs from one pass to the next and is not known before: parts of one block of memory, so that one copy
/// brings them to the device, always to the same place.
struct PassInputs {
  Tensor places;         ///< i64 [frames, 2]: rows of a frame's first patch and first special token in the cache
  Tensor camera_place;   ///< i64 [1, 2]: the row of the first frame in the camera cache, and 0
  Tensor camera_count;   ///< i64 [1]: rows of the camera cache to attend to
  Tensor rotary_time;    ///< float32 [frames, 10, 2]: the global blocks' positions along time
  Tensor rotary_camera;  ///< float32 [frames, 64, 2]: the camera head's
  Tensor images;         ///< u8 [frames, height, width, 3]

  /// Bytes of the block.
  [[nodiscard]] static std::size_t bytes(std::int64_t frames, const FrameGrid& grid);
  /// The parts of a block u8 [bytes()] on any device.
  [[nodiscard]] static PassInputs in(const Tensor& block, std::int64_t frames, const FrameGrid& grid);
};

/// Where a pass stands in its sequence.
struct PassPosition {
  std::span<const FrameSpan> spans;     ///< where each frame's keys and values go
  std::int64_t first_frame = 0;         ///< temporal index of the first frame: frames kept so far
  std::int64_t first_camera_frame = 0;  ///< the camera head's: frames seen so far
  std::int64_t camera_rows = 0;         ///< frames in the camera cache
};

/// Fills all parts but the images; `inputs` is in host memory.
void write_position(const PassPosition& position, const PassInputs& inputs);

}  // namespace lingbot_map
