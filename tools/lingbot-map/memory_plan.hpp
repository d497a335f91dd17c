#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lingbot_map/session.hpp"

namespace lingbot_map::tool {

/// Frames that the cache keeps of a sequence of this many: the scale frames and every n-th frame after them.
[[nodiscard]] std::int64_t kept_frames(std::int64_t frames, const SessionOptions& options);

/// The options with which a session of this many frames takes the same memory: a window or a scale block that the
/// sequence does not fill takes only what it fills.
[[nodiscard]] SessionOptions filled_part(SessionOptions options, std::optional<std::int64_t> frames);

/// Bytes in the host's memory for what waits where two windows meet: results of both for the common frames, their
/// images for the second window and for the files, and the depth ratios of which the median is taken. With `cuts` also
/// for the results and images that are kept for one.
[[nodiscard]] std::size_t common_frames_bytes(std::int64_t overlap, int width, int height, bool world_points,
                                              bool cuts = false) noexcept;

/// What a session takes beside the weights before it keeps a frame.
[[nodiscard]] std::size_t fixed_bytes(const MemoryPlan& plan) noexcept;

/// The run that a plan is for.
struct PlannedRun {
  SessionOptions session;
  int width = 0;   ///< pixels of the network's input
  int height = 0;  ///< pixels
  std::optional<std::int64_t> frames{};
  DType dtype = DType::f32;
  /// In windowed mode: the most that a window keeps, and what common_frames_bytes() says.
  std::optional<std::int64_t> most_kept{};
  std::size_t held_bytes = 0;
  bool on_cpu = true;  ///< the host's memory is the device's
  /// Free memory of the device once the weights are there; 0: not known.
  std::size_t free_bytes = 0;
};

/// The plan as a table for people: what every part takes, and how many kept frames the device has room for.
[[nodiscard]] std::string plan_text(const MemoryPlan& plan, const PlannedRun& run);

/// Throws Error(resource) with the numbers and the flags to change when the run needs more than is free.
void require_memory(const MemoryPlan& plan, const PlannedRun& run);

}  // namespace lingbot_map::tool
