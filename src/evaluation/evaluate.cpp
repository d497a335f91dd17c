#include "evaluation/evaluate.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/message.hpp"
#include "evaluation/umeyama.hpp"
#include "geometry/svd3.hpp"
#include "geometry/vec3.hpp"

namespace lingbot_map {
namespace {

void validate(const EvaluationOptions& options) {
  if (options.delta < 1) fail(ErrorCode::usage, "delta: found ", options.delta, ", expected 1 or more");
}

Sim3 align(std::span<const PosePair> pairs, Alignment alignment) {
  if (alignment == Alignment::none) return {};
  std::vector<Vec3> from;
  std::vector<Vec3> to;
  for (const PosePair& pair : pairs) {
    from.push_back(pair.estimate.translation);
    to.push_back(pair.truth.translation);
  }
  const Sim3 truth_from_estimate = umeyama(from, to, alignment != Alignment::se3);
  if (alignment == Alignment::scale) return {.scale = truth_from_estimate.scale};
  return truth_from_estimate;
}

AlignedPose aligned(const PosePair& pair, const Sim3& truth_from_estimate) {
  AlignedPose pose = {.time = pair.time,
                      .estimate_frame = pair.estimate_frame,
                      .truth_frame = pair.truth_frame,
                      .estimate = truth_from_estimate * pair.estimate,
                      .truth = pair.truth};
  pose.translation_error = distance(pose.estimate.translation, pose.truth.translation);
  pose.rotation_error = rotation_degrees((pose.truth.inverse() * pose.estimate).rotation);
  return pose;
}

struct RelativeError {
  double translation = 0;
  double degrees = 0;
};

RelativeError relative_error(const AlignedPose& a, const AlignedPose& b) {
  const Rigid3 truth = a.truth.inverse() * b.truth;
  const Rigid3 error = truth.inverse() * (a.estimate.inverse() * b.estimate);
  return {distance(error.translation, {}), rotation_degrees(error.rotation)};
}

void measure_absolute(TrajectoryEvaluation& result) {
  std::vector<double> translations;
  std::vector<double> rotations;
  for (const AlignedPose& pose : result.poses) {
    translations.push_back(pose.translation_error);
    rotations.push_back(pose.rotation_error);
  }
  result.ate = statistics_of(std::move(translations));
  result.ate_rotation = statistics_of(std::move(rotations));
}

void measure_orientation(TrajectoryEvaluation& result) {
  Mat3 sum{};
  for (const AlignedPose& pose : result.poses) {
    const Mat3 turn = (pose.truth * pose.estimate.inverse()).rotation;
    for (std::size_t i = 0; i < 9; ++i) sum[i] += turn[i];
  }
  const Rigid3 turn{nearest_rotation(svd3(sum)), {}};
  std::vector<double> degrees;
  for (const AlignedPose& pose : result.poses)
    degrees.push_back(rotation_degrees((pose.truth.inverse() * (turn * pose.estimate)).rotation));
  result.orientation = statistics_of(std::move(degrees));
}

void measure_relative(TrajectoryEvaluation& result, const EvaluationOptions& options) {
  const auto delta = static_cast<std::size_t>(options.delta);
  const std::size_t step = options.all_pairs ? 1 : delta;
  std::vector<double> translations;
  std::vector<double> rotations;
  for (std::size_t i = 0; i + delta < result.poses.size(); i += step) {
    const RelativeError error = relative_error(result.poses[i], result.poses[i + delta]);
    translations.push_back(error.translation);
    rotations.push_back(error.degrees);
  }
  result.relative_poses = static_cast<std::int64_t>(translations.size());
  result.rpe = statistics_of(std::move(translations));
  result.rpe_rotation = statistics_of(std::move(rotations));
}

void measure_path(TrajectoryEvaluation& result) {
  for (std::size_t i = 1; i < result.poses.size(); ++i) {
    const AlignedPose& before = result.poses[i - 1];
    const AlignedPose& pose = result.poses[i];
    result.truth_length += distance(before.truth.translation, pose.truth.translation);
    result.estimate_length += distance(before.estimate.translation, pose.estimate.translation);
  }
  const RelativeError drift = relative_error(result.poses.front(), result.poses.back());
  const double percent = result.truth_length > 0 ? 100 / result.truth_length : std::numeric_limits<double>::quiet_NaN();
  result.ate_percent = percent * result.ate.rmse;
  result.drift_percent = percent * drift.translation;
  result.drift_degrees = drift.degrees;
}

}  // namespace

double rotation_degrees(const Mat3& r) noexcept {
  const double sine = std::hypot(r[7] - r[5], r[2] - r[6], r[3] - r[1]);
  const double cosine = r[0] + r[4] + r[8] - 1;
  return std::atan2(sine, cosine) * 180 / std::numbers::pi;
}

TrajectoryEvaluation evaluate(std::span<const PosePair> pairs, const EvaluationOptions& options) {
  validate(options);
  if (pairs.size() <= static_cast<std::size_t>(options.delta))
    fail(ErrorCode::input, "found ", pairs.size(), pairs.size() == 1 ? " pair" : " pairs",
         " of poses, expected more than delta, which is ", options.delta);
  TrajectoryEvaluation result;
  result.estimate_poses = result.truth_poses = static_cast<std::int64_t>(pairs.size());
  result.truth_from_estimate = align(pairs, options.alignment);
  for (const PosePair& pair : pairs) result.poses.push_back(aligned(pair, result.truth_from_estimate));
  measure_absolute(result);
  measure_orientation(result);
  measure_relative(result, options);
  measure_path(result);
  result.auc = pose_auc(pairs);
  return result;
}

TrajectoryEvaluation evaluate(const Trajectory& estimate, const Trajectory& truth, const EvaluationOptions& options) {
  const std::vector<PosePair> pairs = associate(estimate, truth, options.max_time_difference);
  TrajectoryEvaluation result;
  try {
    result = evaluate(pairs, options);
  } catch (const Error& error) {
    fail(error.code(), estimate.name, " against ", truth.name, ": ", error.what());
  }
  result.estimate_poses = static_cast<std::int64_t>(estimate.poses.size());
  result.truth_poses = static_cast<std::int64_t>(truth.poses.size());
  result.has_times = estimate.has_times && truth.has_times;
  return result;
}

}  // namespace lingbot_map
