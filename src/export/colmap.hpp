#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "base/output_file.hpp"
#include "export/frame_export.hpp"
#include "export/picture_folder.hpp"
#include "export/point_cloud.hpp"
#include "export/track_finder.hpp"

namespace lingbot_map {

/// A sparse model as COLMAP has it in text, with the pictures beside it:
///
///     images/                   see PictureFolder
///     sparse/0/cameras.txt      CAMERA_ID PINHOLE WIDTH HEIGHT fx fy cx cy
///     sparse/0/images.txt       two lines an image:
///                               IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME       world to camera
///                               X Y POINT3D_ID, for every observation
///     sparse/0/points3D.txt     POINT3D_ID X Y Z R G B ERROR, then IMAGE_ID POINT2D_IDX for every observation
///
/// Camera axes: x right, y down, z forward. The middle of the first pixel is (0.5, 0.5), also where depth is
/// unprojected. Cameras are in pixels of the pictures. IMAGE_ID is the frame's index plus one; a frame without a
/// camera, or with a field of view beyond half a turn, has no image. An image gets a camera of its own unless the one
/// before had the same. Points come from TrackFinder, with cells that have the room of `downsample_factor` pixels;
/// images.txt follows TrackFinder::kGap frames late.
class ColmapWriter final : public FrameExport {
 public:
  /// Makes the folders and starts the files. Throws Error(output).
  ColmapWriter(const std::filesystem::path& folder, const PointSelection& selection, double voxel_size,
               PngWriter write_png, const Units& units);
  void write(const PosedFrame& frame, std::span<const ColouredPoint> points) override;
  void finish() override;

  [[nodiscard]] std::int64_t points() const noexcept { return point_count_; }

 private:
  void write(const TrackFinder::Finished& finished);
  [[nodiscard]] std::int64_t camera_id(const ExportedPicture& picture);

  PictureFolder pictures_;
  TrackFinder tracks_;
  OutputFile cameras_;
  OutputFile images_;
  OutputFile points_;
  /// Of frames that TrackFinder holds: the first line of their image, and where the network's pixels lie in it.
  struct Image {
    std::string line;
    OriginalPixels from_processed;
  };
  std::map<std::int64_t, Image> waiting_;
  std::string last_camera_;
  std::int64_t cameras_written_ = 0;
  std::int64_t point_count_ = 0;
};

}  // namespace lingbot_map
