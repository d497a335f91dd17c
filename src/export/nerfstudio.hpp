#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/output_file.hpp"
#include "export/frame_export.hpp"
#include "export/picture_folder.hpp"
#include "export/point_cloud.hpp"

namespace lingbot_map {

/// A data set as nerfstudio has it:
///
///     transforms.json    camera_model OPENCV, ply_file_path, and of every frame that has_pinhole(): file_path, w, h,
///     fl_x,
///                        fl_y, cx, cy in pixels of that file, transform_matrix (4x4) from camera to world
///     images/            see PictureFolder
///     sparse_pc.ply      points to start from, unprojected from the middle of their pixels
///
/// Camera axes are OpenGL's there: x right, y up, z back. The world is that of all other results, not turned, so that
/// the points fit. transforms.json is whole after every frame.
class NerfstudioWriter final : public FrameExport {
 public:
  /// Makes the folders and starts the files. `voxel_size` 0: no grid. Throws Error(output).
  NerfstudioWriter(const std::filesystem::path& folder, const PointSelection& selection, double voxel_size,
                   PngWriter write_png, const Units& units);
  void write(const PosedFrame& frame, std::span<const ColouredPoint> points) override;
  void finish() override;

 private:
  PictureFolder pictures_;
  PointSelection selection_;
  std::optional<VoxelGrid> grid_;
  PlyWriter points_;
  OutputFile transforms_;
  bool first_ = true;
};

}  // namespace lingbot_map
