#pragma once

#include <vector>

#include "evaluation/trajectory_file.hpp"

namespace lingbot_map {

/// An estimated pose and the true one of the same moment.
struct PosePair {
  double time = 0;                  ///< of the truth; the frame's number where one of the trajectories has no times
  std::int64_t estimate_frame = 0;  ///< StampedPose::frame
  std::int64_t truth_frame = 0;
  Rigid3 estimate;  ///< world_from_camera, each in its own world
  Rigid3 truth;
};

/// Pairs poses by time: each pose of the trajectory with fewer (of the estimate where both have as many) with the one
/// nearest to it in the other, if that is no further away than `max_time_difference` seconds; of two that are as near,
/// the earlier. This is the rule of evo. Where one of the trajectories has no times, poses of the same frame are
/// paired. Ascending in time. Throws Error(usage) for a difference that is negative or no number, Error(input) when
/// there is no pair.
[[nodiscard]] std::vector<PosePair> associate(const Trajectory& estimate, const Trajectory& truth,
                                              double max_time_difference = 0.01);

}  // namespace lingbot_map
