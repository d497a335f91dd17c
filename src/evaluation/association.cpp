#include "evaluation/association.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

double time_of(const StampedPose& pose) { return pose.time; }
double frame_of(const StampedPose& pose) { return static_cast<double>(pose.frame); }

using Key = double (*)(const StampedPose&);

/// The pose nearest to `at`, the earlier of two as near. `poses` is not empty.
const StampedPose& nearest(const std::vector<StampedPose>& poses, double at, Key key) {
  const auto after = std::ranges::upper_bound(poses, at, {}, key);
  if (after == poses.begin()) return *after;
  const auto before = std::prev(after);
  if (after == poses.end() || at - key(*before) <= key(*after) - at) return *before;
  return *after;
}

}  // namespace

std::vector<PosePair> associate(const Trajectory& estimate, const Trajectory& truth, double max_time_difference) {
  if (!(max_time_difference >= 0))
    fail(ErrorCode::usage, "max_time_difference: found ", max_time_difference, ", expected seconds of 0 or more");
  const bool by_time = estimate.has_times && truth.has_times;
  const Key key = by_time ? time_of : frame_of;
  const double furthest = by_time ? max_time_difference : 0;
  const bool from_truth = truth.poses.size() < estimate.poses.size();
  const Trajectory& fewer = from_truth ? truth : estimate;
  const Trajectory& more = from_truth ? estimate : truth;

  std::vector<PosePair> pairs;
  for (const StampedPose& pose : fewer.poses) {
    if (more.poses.empty()) break;
    const StampedPose& other = nearest(more.poses, key(pose), key);
    if (!(std::abs(key(pose) - key(other)) <= furthest)) continue;
    const StampedPose& estimated = from_truth ? other : pose;
    const StampedPose& true_one = from_truth ? pose : other;
    pairs.push_back(
        {key(true_one), estimated.frame, true_one.frame, estimated.world_from_camera, true_one.world_from_camera});
  }
  if (!pairs.empty()) return pairs;

  if (fewer.poses.empty()) fail(ErrorCode::input, fewer.name, ": found no pose, expected a trajectory");
  const auto range = [&](const Trajectory& trajectory) {
    return shortest_text(key(trajectory.poses.front())) + " to " + shortest_text(key(trajectory.poses.back()));
  };
  fail(ErrorCode::input, estimate.name, ": found ", by_time ? "times of " : "frames ", range(estimate),
       by_time ? " s" : "", ", no pose of which is in ", truth.name, " (", range(truth), by_time ? " s" : "", ")",
       by_time ? message(" within ", max_time_difference, " s; do both count from the same start?") : "");
}

}  // namespace lingbot_map
