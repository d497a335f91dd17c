#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluation/association.hpp"
#include "evaluation/pose_auc.hpp"
#include "evaluation/statistics.hpp"
#include "geometry/similarity.hpp"

namespace lingbot_map {

/// What may be put right about an estimate before its errors are measured.
enum class Alignment : std::uint8_t {
  sim3,   ///< place, direction and scale, by umeyama(): for poses without a metric unit
  se3,    ///< place and direction
  scale,  ///< the scale that umeyama() finds, about the origin, and nothing else
  none,
};

struct EvaluationOptions {
  Alignment alignment = Alignment::sim3;
  double max_time_difference = 0.01;  ///< seconds between two poses of a pair
  int delta = 1;                      ///< poses between the two ends of a relative pose
  bool all_pairs = false;             ///< relative poses from every pose, not only from every `delta`-th
};

/// An estimated pose, put into the world of the truth, and how far it is from the true one.
struct AlignedPose {
  double time = 0;  ///< as in PosePair
  std::int64_t estimate_frame = 0;
  std::int64_t truth_frame = 0;
  Rigid3 estimate;
  Rigid3 truth;
  double translation_error = 0;  ///< distance of the camera centres, in the truth's unit
  double rotation_error = 0;     ///< degrees, from 0 to 180
};

struct TrajectoryEvaluation {
  std::int64_t estimate_poses = 0;  ///< in the estimate; not all need to have a true one
  std::int64_t truth_poses = 0;
  bool has_times = true;  ///< AlignedPose::time is seconds, not a frame's number
  Sim3 truth_from_estimate;
  std::vector<AlignedPose> poses;  ///< all pairs of poses, ascending in time

  ErrorStatistics ate;           ///< absolute: AlignedPose::translation_error
  ErrorStatistics ate_rotation;  ///< absolute: AlignedPose::rotation_error, degrees
  /// Angle between the cameras, degrees, after the one rotation that brings all of them closest together. The alignment
  /// of centres leaves the turn about a path open where that is nearly straight, and so ate_rotation; this is not.
  ErrorStatistics orientation;
  ErrorStatistics rpe;           ///< relative: translation, in the truth's unit
  ErrorStatistics rpe_rotation;  ///< relative: rotation, degrees
  std::int64_t relative_poses = 0;
  PoseAuc auc;

  double truth_length = 0;     ///< of the true path along the paired poses
  double estimate_length = 0;  ///< of the aligned estimate along the same
  double ate_percent = 0;      ///< ate.rmse in percent of truth_length; NaN if that is zero
  /// Where the path ends as seen from where it starts: the relative pose error between the first and the last pair, in
  /// percent of truth_length (NaN if that is zero) and in degrees. Of the alignment only the scale matters to it.
  double drift_percent = 0;
  double drift_degrees = 0;
};

/// How good an estimated trajectory is. With P the aligned estimate and Q the truth, both world from camera, as in
/// Sturm et al., "A benchmark for the evaluation of RGB-D SLAM systems", IROS 2012, and in the tool evo:
///
///   absolute error of pose i     inverse(Q_i) * P_i; translation is the distance of the centres
///   relative error from i to j   inverse(inverse(Q_i) * Q_j) * (inverse(P_i) * P_j), j = i + delta, counted in pairs
///
/// Throws Error(input) as associate() and umeyama() do, naming both files, and when there are not more pairs than
/// `delta`; Error(usage) for options that make no sense.
[[nodiscard]] TrajectoryEvaluation evaluate(const Trajectory& estimate, const Trajectory& truth,
                                            const EvaluationOptions& options = {});

/// The same for poses that are paired already.
[[nodiscard]] TrajectoryEvaluation evaluate(std::span<const PosePair> pairs, const EvaluationOptions& options = {});

/// The angle of a rotation in degrees, from 0 to 180, exact also near its ends.
[[nodiscard]] double rotation_degrees(const Mat3& rotation) noexcept;

}  // namespace lingbot_map
