#pragma once

#include <optional>

#include "lingbot_map/session.hpp"
#include "model/frame_grid.hpp"

namespace lingbot_map {

/// Throws Error(usage) that names the first option that is impossible, or contradicts another.
void check_options(const SessionOptions& options);

/// The grid of a frame for a session whose frames so far had `grid`. Throws Error(usage) when the frame is of another
/// size, of none that the network takes, or does not have the bytes that it should.
[[nodiscard]] FrameGrid checked_grid(const Config& config, const Image& frame, const std::optional<FrameGrid>& grid);

}  // namespace lingbot_map
