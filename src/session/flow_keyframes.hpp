#pragma once

#include <cstdint>

#include "geometry/camera.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map {

class StateReader;
class StateWriter;

/// Which streamed frames are kept, by what they show: the first one; one whose pixels moved by more than a threshold
/// since the last kept frame (mean_induced_flow by its own depth and pose); and one that comes `max_gap` frames after
/// the last kept one. Source: flow-based keyframe selection of LingBot-Map's batch program.
class FlowKeyframes {
 public:
  /// `threshold` in pixels of the network's input; `max_gap` is 1 or more.
  FlowKeyframes(double threshold, int max_gap) : threshold_(threshold), max_gap_(max_gap) {}

  /// Begins a sequence with the result of its last scale frame.
  void start(const FrameResult& last_scale_frame);
  /// Whether this streamed frame is kept. Takes the frames of a sequence in order, each once.
  [[nodiscard]] bool judge(const FrameResult& result);

  /// Writes with what the next frame is compared.
  void save(StateWriter& state) const;
  /// Goes on from what was saved with the same threshold and gap. Throws Error(input).
  void restore(StateReader& state);

 private:
  double threshold_;
  std::int64_t max_gap_;
  PoseEncoding last_kept_{};
  std::int64_t since_kept_ = 0;  ///< frames judged after the last kept one
  bool first_ = true;            ///< no streamed frame was judged yet
};

}  // namespace lingbot_map
