#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "export/point_cloud.hpp"
#include "export/predictions.hpp"
#include "export/trajectory.hpp"
#include "geometry/camera.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map {

struct ResultOptions {
  PointSelection points;
  bool save_predictions = false;
};

/// What the caller knows of a frame and the network does not.
struct FrameMeta {
  double timestamp = 0;     ///< seconds, later than that of the frame before
  std::string name;         ///< of the file or the place in the video, for messages
  Image image;              ///< the network's input
  OriginalPixels original;  ///< how that lies in the picture it was made from
};

/// Everything that a run writes for its frames, in one folder:
///
///     trajectory.txt  poses_kitti.txt  intrinsics.txt  points.ply  and, if asked for, predictions/
///
/// frame by frame, so that after each call the files are whole and readable. Files of an earlier run are replaced.
class ResultWriter {
 public:
  /// Makes the folder and starts its files; with a state(), goes on with the files that are there, from the frame at
  /// which it was taken to the same bytes as if nothing had happened. Throws Error(usage) for a downsample factor below
  /// one or a threshold that is NaN; Error(output).
  explicit ResultWriter(const std::filesystem::path& folder, const ResultOptions& options = {},
                        const JsonFields* state = nullptr);
  /// Takes the results in the order of their indices, from 0 on. Throws Error(output); Error(input) that names the
  /// frame for a time stamp that is not later than the one before; Error(internal) when an index or a size is not
  /// right.
  void write(const FrameResult& result, const FrameMeta& meta);
  /// Completes the files: predictions/meta.npz, with the windows of windowed mode, and errors that the system only
  /// reports at the end.
  void finish(std::span<const WindowRecord> windows = {});
  /// Where every file stands now.
  [[nodiscard]] WriterState state() const;

  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  [[nodiscard]] std::int64_t points() const noexcept { return points_.points(); }
  /// Frames for which the network gave no usable pose or field of view: they have no points.
  [[nodiscard]] std::int64_t frames_without_camera() const noexcept { return frames_without_camera_; }

 private:
  std::filesystem::path folder_;
  PointSelection selection_;
  TumWriter tum_;
  KittiWriter kitti_;
  IntrinsicsWriter intrinsics_;
  PlyWriter points_;
  std::optional<PredictionsWriter> predictions_;
  std::int64_t frames_ = 0;
  std::int64_t frames_without_camera_ = 0;
};

}  // namespace lingbot_map
