#include "export/result_writer.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "base/message.hpp"
#include "export/output_folder.hpp"

namespace lingbot_map {
namespace {

constexpr const char* kTrajectory = "trajectory.txt";
constexpr const char* kPoses = "poses_kitti.txt";
constexpr const char* kIntrinsics = "intrinsics.txt";
constexpr const char* kPoints = "points.ply";
constexpr const char* kPredictions = "predictions";

/// The state of one of the writers; null when there is none to go on from.
std::unique_ptr<const JsonFields> part_of(const JsonFields* state, const char* name) {
  return state == nullptr ? nullptr : std::make_unique<const JsonFields>(state->object(name));
}

/// The folder of the files that the other members open.
std::filesystem::path opened(const std::filesystem::path& folder, const ResultOptions& options) {
  const auto& [conf_threshold, downsample_factor] = options.points;
  if (std::isnan(conf_threshold)) fail(ErrorCode::usage, "found the confidence threshold nan, expected a number");
  if (downsample_factor < 1) {
    fail(ErrorCode::usage, "found the downsample factor ", downsample_factor, ", expected 1 or more");
  }
  make_output_folder(folder);
  return folder;
}

}  // namespace

ResultWriter::ResultWriter(const std::filesystem::path& folder, const ResultOptions& options, const JsonFields* state)
    : folder_(opened(folder, options)),
      selection_(options.points),
      tum_(folder_ / kTrajectory, part_of(state, kTrajectory).get()),
      kitti_(folder_ / kPoses, part_of(state, kPoses).get()),
      intrinsics_(folder_ / kIntrinsics, part_of(state, kIntrinsics).get()),
      points_(folder_ / kPoints, part_of(state, kPoints).get()) {
  if (options.save_predictions) predictions_.emplace(folder_ / kPredictions, part_of(state, kPredictions).get());
  if (state == nullptr) return;
  frames_ = state->integer("frames", 0, std::numeric_limits<std::int64_t>::max());
  frames_without_camera_ = state->integer("frames_without_camera", 0, frames_);
}

WriterState ResultWriter::state() const {
  WriterState state = {{"frames", frames_},
                       {"frames_without_camera", frames_without_camera_},
                       {kTrajectory, tum_.state()},
                       {kPoses, kitti_.state()},
                       {kIntrinsics, intrinsics_.state()},
                       {kPoints, points_.state()}};
  if (predictions_) state[kPredictions] = predictions_->state();
  return state;
}

void ResultWriter::write(const FrameResult& result, const FrameMeta& meta) {
  check(result.index == frames_, "result ", result.index, " written where ", frames_, " was expected");
  const auto world = world_from_camera(result.pose_enc);
  const Intrinsics intrinsics = intrinsics_of(result.pose_enc, result.width, result.height);

  try {
    tum_.write(meta.timestamp, world);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::input) throw;
    fail(error.code(), "frame ", result.index, " (", meta.name, "): ", error.what());
  }
  kitti_.write(world);
  intrinsics_.write(result.index, intrinsics, meta.original);
  points_.append(points_of(result, meta.image, selection_));
  if (predictions_) predictions_->write(result, meta.image);

  ++frames_;
  if (!world || !intrinsics.usable()) ++frames_without_camera_;
}

void ResultWriter::finish(std::span<const WindowRecord> windows) {
  tum_.close();
  kitti_.close();
  intrinsics_.close();
  points_.close();
  if (predictions_) predictions_->finish(windows);
}

}  // namespace lingbot_map
