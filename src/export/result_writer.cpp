#include "export/result_writer.hpp"

#include <cmath>

#include "base/message.hpp"
#include "export/output_folder.hpp"

namespace lingbot_map {
namespace {

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

ResultWriter::ResultWriter(const std::filesystem::path& folder, const ResultOptions& options)
    : folder_(opened(folder, options)),
      selection_(options.points),
      tum_(folder_ / "trajectory.txt"),
      kitti_(folder_ / "poses_kitti.txt"),
      intrinsics_(folder_ / "intrinsics.txt"),
      points_(folder_ / "points.ply") {
  if (options.save_predictions) predictions_.emplace(folder_ / "predictions");
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
