#include "session/checks.hpp"

#include <cmath>

#include "base/message.hpp"

namespace lingbot_map {

void check_options(const SessionOptions& options) {
  const auto positive = [](int value, const char* name) {
    if (value < 1) fail(ErrorCode::usage, name, " is ", value, ": expected 1 or more");
  };
  positive(options.scale_frames, "scale_frames");
  positive(options.window, "window");
  positive(options.keyframe_interval, "keyframe_interval");
  positive(options.camera_iterations, "camera_iterations");
  positive(options.max_non_keyframe_gap, "max_non_keyframe_gap");
  if (!std::isfinite(options.flow_threshold) || options.flow_threshold < 0) {
    fail(ErrorCode::usage, "flow_threshold is ", options.flow_threshold, ": expected a number of pixels, or 0");
  }
  if (options.flow_threshold > 0 && options.keyframe_interval > 1) {
    fail(ErrorCode::usage, "flow_threshold is ", options.flow_threshold, " and keyframe_interval is ",
         options.keyframe_interval, ": frames are kept by one of them; leave the interval at 1");
  }
}

FrameGrid checked_grid(const Config& config, const Image& frame, const std::optional<FrameGrid>& grid) {
  const FrameGrid found(config, frame.width, frame.height);
  if (grid && (found.width != grid->width || found.height != grid->height)) {
    fail(ErrorCode::usage, "a frame of ", frame.width, "x", frame.height, " pixels in a session of ", grid->width, "x",
         grid->height, ": all frames of a session have one size");
  }
  if (frame.pixels.size() != static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height) * 3) {
    fail(ErrorCode::usage, "a frame of ", frame.width, "x", frame.height, " pixels with ", frame.pixels.size(),
         " bytes: expected width * height * 3");
  }
  return found;
}

}  // namespace lingbot_map
