#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/export_formats.hpp"
#include "export/frame_export.hpp"
#include "export/picture_folder.hpp"
#include "export/point_cloud.hpp"
#include "export/posed_frame.hpp"
#include "export/predictions.hpp"
#include "export/trajectory.hpp"

namespace lingbot_map {

struct ResultOptions {
  PointSelection points;
  bool save_predictions = false;  ///< the same as the format npz
  ExportFormats formats = kDefaultFormats;
  double voxel_size = 0;  ///< only the first point in every cube of this side, in output units; 0: all points
  Units units;
  PngWriter write_png;  ///< for colmap and nerfstudio
};

/// What of these options keeps a writer from having a state(), as glb, colmap, nerfstudio, or a voxel size; empty if
/// nothing does.
[[nodiscard]] std::string without_state(const ResultOptions& options);

/// Everything that is written for frames, in one folder: intrinsics.txt, and of the formats
///
///     tum         trajectory.txt         glb         scene.glb
///     kitti       poses_kitti.txt        colmap      colmap/
///     ply         points.ply             nerfstudio  nerfstudio/
///     npz         predictions/
///
/// frame by frame, so that after each call the files are readable; glb gets its cameras, and colmap its last frames and
/// points, in finish(). Files of an earlier run are replaced.
class ResultWriter {
 public:
  /// Makes the folder and starts its files; with a state(), goes on with the files that are there, from the frame at
  /// which it was taken to the same bytes as if nothing had happened. Throws Error(usage) for a downsample factor below
  /// one, a threshold that is NaN, a voxel size that is negative or not finite, or a state with options that have none;
  /// Error(output).
  explicit ResultWriter(const std::filesystem::path& folder, const ResultOptions& options = {},
                        const JsonFields* state = nullptr);
  /// Takes the results in the order of their indices, from 0 on, as the network gave them. Throws Error(output);
  /// Error(input) that names the frame for a time stamp that is not later than the one before; Error(internal) when an
  /// index or a size is not right.
  void write(const FrameResult& result, const FrameMeta& meta);
  /// Completes the files: predictions/meta.npz, with the windows of windowed mode, what glb and colmap held back, and
  /// errors that the system only reports at the end.
  void finish(std::span<const WindowRecord> windows = {});
  /// Where every file stands now. Throws Error(usage) when something is written that has no state.
  [[nodiscard]] WriterState state() const;

  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  /// Points selected so far, for ply and glb.
  [[nodiscard]] std::int64_t points() const noexcept { return point_count_; }
  /// Frames for which the network gave no usable pose or field of view: they have no points.
  [[nodiscard]] std::int64_t frames_without_camera() const noexcept { return frames_without_camera_; }

  /// What the user should know at the end, one line each.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  void write_trajectory(const PosedFrame& frame);
  [[nodiscard]] std::vector<ColouredPoint> select_points(const PosedFrame& frame);

  std::filesystem::path folder_;
  std::string without_state_;
  PointSelection selection_;
  Units units_;
  IntrinsicsWriter intrinsics_;
  std::optional<TumWriter> tum_;
  std::optional<KittiWriter> kitti_;
  std::optional<PlyWriter> points_;
  std::optional<PredictionsWriter> predictions_;
  std::vector<std::unique_ptr<FrameExport>> exports_;
  bool needs_points_ = false;
  std::optional<VoxelGrid> grid_;
  std::int64_t frames_ = 0;
  std::int64_t point_count_ = 0;
  std::int64_t frames_without_camera_ = 0;
};

}  // namespace lingbot_map
