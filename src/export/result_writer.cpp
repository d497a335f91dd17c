#include "export/result_writer.hpp"

#include <cmath>

#include "base/message.hpp"
#include "export/colmap.hpp"
#include "export/glb.hpp"
#include "export/nerfstudio.hpp"
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
  if (!std::isfinite(options.voxel_size) || options.voxel_size < 0) {
    fail(ErrorCode::usage, "found the voxel size ", options.voxel_size, ", expected a finite number above 0");
  }
  make_output_folder(folder);
  return folder;
}

}  // namespace

ResultWriter::ResultWriter(const std::filesystem::path& folder, const ResultOptions& options)
    : folder_(opened(folder, options)),
      selection_(options.points),
      units_(options.units),
      intrinsics_(folder_ / "intrinsics.txt") {
  const auto& [selection, save_predictions, formats, voxel_size, units, write_png] = options;
  using enum ExportFormat;
  if (formats.has(tum)) tum_.emplace(folder_ / "trajectory.txt", units);
  if (formats.has(kitti)) kitti_.emplace(folder_ / "poses_kitti.txt");
  if (formats.has(ply)) points_.emplace(folder_ / "points.ply", units);
  if (formats.has(npz) || save_predictions) predictions_.emplace(folder_ / "predictions", units);
  if (formats.has(glb)) exports_.push_back(std::make_unique<GlbWriter>(folder_ / "scene.glb", units));
  if (formats.has(colmap))
    exports_.push_back(std::make_unique<ColmapWriter>(folder_ / "colmap", selection, voxel_size, write_png, units));
  if (formats.has(nerfstudio))
    exports_.push_back(
        std::make_unique<NerfstudioWriter>(folder_ / "nerfstudio", selection, voxel_size, write_png, units));
  needs_points_ = formats.has(ply) || formats.has(glb);
  if (voxel_size > 0) grid_.emplace(voxel_size);
}

void ResultWriter::write(const FrameResult& network_result, const FrameMeta& meta) {
  check(network_result.index == frames_, "result ", network_result.index, " written where ", frames_, " was expected");
  std::optional<FrameResult> changed;
  if (units_.changed) changed = in_units(units_, network_result);
  const PosedFrame frame = pose_frame(network_result, changed ? *changed : network_result, meta, units_);

  write_trajectory(frame);
  intrinsics_.write(frame.result.index, frame.intrinsics, meta.original);
  const std::vector<ColouredPoint> points = needs_points_ ? select_points(frame) : std::vector<ColouredPoint>{};
  if (points_) points_->append(points);
  point_count_ += static_cast<std::int64_t>(points.size());
  if (predictions_) predictions_->write(frame);
  for (const auto& each : exports_) each->write(frame, points);

  ++frames_;
  if (!frame.has_camera()) ++frames_without_camera_;
}

void ResultWriter::write_trajectory(const PosedFrame& frame) {
  try {
    if (tum_) tum_->write(frame.meta.timestamp, frame.world_from_camera);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::input) throw;
    fail(error.code(), "frame ", frame.result.index, " (", frame.meta.name, "): ", error.what());
  }
  if (kitti_) kitti_->write(frame.world_from_camera);
}

std::vector<ColouredPoint> ResultWriter::select_points(const PosedFrame& frame) {
  std::vector<ColouredPoint> points = points_of(frame, selection_);
  if (grid_) keep_first_in_cubes(points, *grid_);
  return points;
}

void ResultWriter::finish(std::span<const WindowRecord> windows) {
  if (tum_) tum_->close();
  if (kitti_) kitti_->close();
  intrinsics_.close();
  if (points_) points_->close();
  if (predictions_) predictions_->finish(windows);
  for (const auto& each : exports_) each->finish();
}

std::vector<std::string> ResultWriter::warnings() const {
  std::vector<std::string> all;
  for (const auto& each : exports_)
    for (std::string& line : each->warnings()) all.push_back(std::move(line));
  return all;
}

}  // namespace lingbot_map
