#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace lingbot_map::tool {

/// The time of a stream at one of its frames.
struct TracePoint {
  std::int64_t frame = 0;  ///< counted from the first scale frame
  double ms = 0;           ///< mean over the frames around it
};

/// What the public profiler says of one run.
struct ProfileSummary {
  std::int64_t scale_frames = 0;
  std::int64_t total_frames = 0;
  double phase1_ms = 0;  ///< of the scale frames, all together
  double total_ms = 0;
  TracePoint lo, mid, hi;         ///< a tenth, a half and nine tenths of the way; means over 30 frames before and after
  std::vector<TracePoint> trace;  ///< every hundredth frame; means over 3 frames before and after

  /// `frame_ms`: of each streamed frame, at least one.
  [[nodiscard]] static ProfileSummary of(std::int64_t scale_frames, double phase1_ms, std::span<const double> frame_ms);
  [[nodiscard]] double ms_per_frame() const { return total_ms / static_cast<double>(total_frames); }
  /// With the public profiler's keys.
  [[nodiscard]] nlohmann::ordered_json json() const;
  /// Lines for people, under the name of the run.
  [[nodiscard]] std::string text(const std::string& name) const;
};

}  // namespace lingbot_map::tool
