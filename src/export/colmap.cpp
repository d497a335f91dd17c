#include "export/colmap.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "base/message.hpp"
#include "export/number_text.hpp"
#include "export/output_folder.hpp"

namespace lingbot_map {
namespace {

std::filesystem::path made(const std::filesystem::path& folder) {
  make_output_folder(folder);
  return folder;
}

TrackFinder::Settings track_settings(const PointSelection& selection, double voxel_size) {
  const double side = std::round(std::sqrt(static_cast<double>(selection.downsample_factor)));
  return {.conf_threshold = selection.conf_threshold, .cell = static_cast<int>(side), .voxel_size = voxel_size};
}

std::string pose_text(const Rigid3& world_from_camera) {
  const Rigid3 camera_from_world = world_from_camera.inverse();
  const Quaternion q = quaternion_from_rotation(camera_from_world.rotation);
  const Vec3& t = camera_from_world.translation;
  std::string text;
  for (const double number : {q.w, q.x, q.y, q.z, t[0], t[1], t[2]}) append_number(text += ' ', number);
  return text;
}

}  // namespace

ColmapWriter::ColmapWriter(const std::filesystem::path& folder, const PointSelection& selection, double voxel_size,
                           PngWriter write_png, const Units& units)
    : pictures_(folder / "images", std::move(write_png)),
      tracks_(track_settings(selection, voxel_size)),
      cameras_(made(folder / "sparse/0") / "cameras.txt"),
      images_(folder / "sparse/0/images.txt"),
      points_(folder / "sparse/0/points3D.txt") {
  cameras_.append("# One line a camera: CAMERA_ID PINHOLE WIDTH HEIGHT fx fy cx cy\n");
  images_.append(
      message("# Two lines an image: IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, then X Y POINT3D_ID for each "
              "observation\n# World to camera; camera axes x right, y down, z forward; ",
              units.text, '\n'));
  points_.append("# One line a point: POINT3D_ID X Y Z R G B ERROR, then IMAGE_ID POINT2D_IDX for each observation\n");
}

void ColmapWriter::write(const PosedFrame& frame, std::span<const ColouredPoint>) {
  OriginalPixels from_processed;
  if (frame.has_pinhole()) {
    const ExportedPicture picture = pictures_.place(frame);
    from_processed = picture.from_processed;
    waiting_[frame.result.index] = {message(frame.result.index + 1, pose_text(*frame.world_from_camera), ' ',
                                            camera_id(picture), ' ', picture.name, '\n'),
                                    from_processed};
  }
  write(tracks_.add(frame, from_processed));
}

void ColmapWriter::finish() {
  write(tracks_.finish());
  cameras_.close();
  images_.close();
  points_.close();
}

/// The camera of a picture: the last one, or a new one.
std::int64_t ColmapWriter::camera_id(const ExportedPicture& picture) {
  const Intrinsics& camera = picture.camera;
  std::string text = message(" PINHOLE ", picture.width, ' ', picture.height);
  for (const double number : {camera.fx, camera.fy, camera.cx, camera.cy}) append_number(text += ' ', number);
  if (text != last_camera_) {
    cameras_.append(message(cameras_written_ + 1, text, '\n'));
    ++cameras_written_;
    last_camera_ = std::move(text);
  }
  return cameras_written_;
}

void ColmapWriter::write(const TrackFinder::Finished& finished) {
  for (const TrackFinder::Frame& frame : finished.frames) {
    auto [text, from_processed] = std::move(waiting_.extract(frame.index).mapped());
    for (const TrackFinder::Observation& observation : frame.observations) {
      append_number(text, from_processed.scale_x * observation.u + from_processed.offset_x);
      append_number(text += ' ', from_processed.scale_y * observation.v + from_processed.offset_y);
      text += message(' ', observation.point, ' ');
    }
    if (text.ends_with(' ')) text.pop_back();
    images_.append(text += '\n');
  }
  for (const TrackFinder::Point& point : finished.points) {
    std::string text = std::to_string(point.id);
    for (const double coordinate : point.position) append_number(text += ' ', coordinate);
    for (const int channel : point.colour) text += message(' ', channel);
    append_number(text += ' ', point.error);
    for (const auto& [frame, observation] : point.track) text += message(' ', frame + 1, ' ', observation);
    points_.append(text += '\n');
    ++point_count_;
  }
}

}  // namespace lingbot_map
