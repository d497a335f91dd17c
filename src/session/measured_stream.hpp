#pragma once

#include <cstddef>
#include <cstdint>

#include "lingbot_map/session.hpp"
#include "model/frame_grid.hpp"
#include "model/network.hpp"

namespace lingbot_map {

/// Bytes of device memory that a stream takes beside the weights.
struct MeasuredStream {
  std::size_t scale_arena = 0;     ///< activations of the scale pass
  std::size_t stream_arena = 0;    ///< activations of one streamed frame
  std::size_t slots = 0;           ///< caches of scale frames and window
  std::size_t per_kept_frame = 0;  ///< what a kept frame adds for ever
};

/// Runs a scale pass over so many frames and a streamed frame without memory.
[[nodiscard]] MeasuredStream measure_stream(const Network& network, const SessionOptions& options, DType dtype,
                                            const FrameGrid& grid, std::int64_t scale_frames);

}  // namespace lingbot_map
