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

/// The plan as a table for people, with what `frames` add if their number is known.
[[nodiscard]] std::string plan_text(const MemoryPlan& plan, const SessionOptions& options, int width, int height,
                                    std::optional<std::int64_t> frames);

/// Throws Error(resource) with the numbers and what to change when cache and activations exceed `available` bytes.
void require_memory(const MemoryPlan& plan, const SessionOptions& options, std::optional<std::int64_t> frames,
                    std::optional<std::size_t> available);

}  // namespace lingbot_map::tool
