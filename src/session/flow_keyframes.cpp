#include "session/flow_keyframes.hpp"

#include "geometry/induced_flow.hpp"

namespace lingbot_map {

void FlowKeyframes::start(const FrameResult& last_scale_frame) {
  last_kept_ = last_scale_frame.pose_enc;
  since_kept_ = 0;
  first_ = true;
}

bool FlowKeyframes::judge(const FrameResult& result) {
  ++since_kept_;
  const bool keep =
      first_ || since_kept_ >= max_gap_ ||
      mean_induced_flow(result.depth, result.width, result.height, result.pose_enc, last_kept_) > threshold_;
  first_ = false;
  if (keep) {
    last_kept_ = result.pose_enc;
    since_kept_ = 0;
  }
  return keep;
}

}  // namespace lingbot_map
