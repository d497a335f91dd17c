#pragma once

#include <optional>
#include <vector>

#include "geometry/camera.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map {

class StateReader;
class StateWriter;

/// A frame as far as the next one is compared with it.
struct SeenFrame {
  PoseEncoding pose_enc{};
  int width = 0;   ///< pixels
  int height = 0;  ///< pixels
  std::vector<float> depth;
  // What follows from these.
  Rigid3 world_from_camera;
  Intrinsics intrinsics;
  double median_depth = 0;  ///< of what is positive; 0: nothing is
};

/// Nothing for a frame without a pose.
[[nodiscard]] std::optional<SeenFrame> seen_frame(const FrameResult& result);

/// The median over every eighth pixel of every eighth row of a map's values above `less`, less that. 0 when there is
/// none.
[[nodiscard]] double median_over_grid(const std::vector<float>& map, int width, int height, double less);

/// The median factor by which what both frames see is further away, in its own frame's depth, for the later one.
/// Nothing when too little is seen by both.
[[nodiscard]] std::optional<double> scale_between(const SeenFrame& before, const SeenFrame& now);

/// The middle one of some values, the upper one of two; there is at least one.
[[nodiscard]] double median_of(std::vector<double> values);

/// Writes a frame, or that there is none.
void save_seen(StateWriter& state, const SeenFrame* frame);
/// That frame. Throws Error(input).
[[nodiscard]] std::optional<SeenFrame> restore_seen(StateReader& state);

}  // namespace lingbot_map
