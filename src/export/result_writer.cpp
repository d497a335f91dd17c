#include "export/result_writer.hpp"

#include <cmath>
#include <limits>

#include "base/message.hpp"
#include "export/colmap.hpp"
#include "export/glb.hpp"
#include "export/nerfstudio.hpp"
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

void require_state(const std::string& without) {
  if (!without.empty())
    fail(ErrorCode::usage, "results with ", without, " cannot be gone on with; write them without it");
}

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

std::string without_state(const ResultOptions& options) {
  for (const ExportFormat format : {ExportFormat::glb, ExportFormat::colmap, ExportFormat::nerfstudio})
    if (options.formats.has(format)) return "the format " + std::string(name_of(format));
  return options.voxel_size > 0 ? "a voxel size" : "";
}

ResultWriter::ResultWriter(const std::filesystem::path& folder, const ResultOptions& options, const JsonFields* state)
    : folder_(opened(folder, options)),
      without_state_(without_state(options)),
      selection_(options.points),
      units_(options.units),
      intrinsics_(folder_ / kIntrinsics, part_of(state, kIntrinsics).get()) {
  if (state != nullptr) require_state(without_state_);
  const auto& [selection, save_predictions, formats, voxel_size, units, write_png] = options;
  using enum ExportFormat;
  if (formats.has(tum)) tum_.emplace(folder_ / kTrajectory, units, part_of(state, kTrajectory).get());
  if (formats.has(kitti)) kitti_.emplace(folder_ / kPoses, part_of(state, kPoses).get());
  if (formats.has(ply)) points_.emplace(folder_ / kPoints, units, part_of(state, kPoints).get());
  if (formats.has(npz) || save_predictions)
    predictions_.emplace(folder_ / kPredictions, units, PredictionsWriter::Images::unit_float,
                         part_of(state, kPredictions).get());
  if (formats.has(glb)) exports_.push_back(std::make_unique<GlbWriter>(folder_ / "scene.glb", units));
  if (formats.has(colmap))
    exports_.push_back(std::make_unique<ColmapWriter>(folder_ / "colmap", selection, voxel_size, write_png, units));
  if (formats.has(nerfstudio))
    exports_.push_back(
        std::make_unique<NerfstudioWriter>(folder_ / "nerfstudio", selection, voxel_size, write_png, units));
  needs_points_ = formats.has(ply) || formats.has(glb);
  if (voxel_size > 0) grid_.emplace(voxel_size);
  if (state == nullptr) return;
  frames_ = state->integer("frames", 0, std::numeric_limits<std::int64_t>::max());
  frames_without_camera_ = state->integer("frames_without_camera", 0, frames_);
  point_count_ = points_ ? points_->points() : 0;
}

WriterState ResultWriter::state() const {
  require_state(without_state_);
  WriterState state = {
      {"frames", frames_}, {"frames_without_camera", frames_without_camera_}, {kIntrinsics, intrinsics_.state()}};
  if (tum_) state[kTrajectory] = tum_->state();
  if (kitti_) state[kPoses] = kitti_->state();
  if (points_) state[kPoints] = points_->state();
  if (predictions_) state[kPredictions] = predictions_->state();
  return state;
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
