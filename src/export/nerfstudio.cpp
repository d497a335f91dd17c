#include "export/nerfstudio.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTail = "\n]}\n";

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Camera to world with x right, y up, z back.
Json opengl_matrix(const Rigid3& world_from_camera) {
  const Mat3& r = world_from_camera.rotation;
  const Vec3& t = world_from_camera.translation;
  Json rows = Json::array();
  for (std::size_t i = 0; i < 3; ++i) rows.push_back({r[3 * i], -r[3 * i + 1], -r[3 * i + 2], t[i]});
  rows.push_back({0, 0, 0, 1});
  return rows;
}

}  // namespace

NerfstudioWriter::NerfstudioWriter(const std::filesystem::path& folder, const PointSelection& selection,
                                   double voxel_size, PngWriter write_png, const Units& units)
    : pictures_(folder / "images", std::move(write_png)),
      selection_(selection),
      points_(folder / "sparse_pc.ply", units),
      transforms_(folder / "transforms.json") {
  if (voxel_size != 0) grid_.emplace(voxel_size);
  transforms_.append(message("{\"camera_model\": \"OPENCV\", \"ply_file_path\": \"sparse_pc.ply\",\n \"units\": ",
                             dump(units.text), ",\n \"frames\": [", kTail));
}

void NerfstudioWriter::write(const PosedFrame& frame, std::span<const ColouredPoint>) {
  if (!frame.has_pinhole()) return;
  const ExportedPicture picture = pictures_.place(frame);
  const Json entry = {{"file_path", "images/" + picture.name},
                      {"w", picture.width},
                      {"h", picture.height},
                      {"fl_x", picture.camera.fx},
                      {"fl_y", picture.camera.fy},
                      {"cx", picture.camera.cx},
                      {"cy", picture.camera.cy},
                      {"transform_matrix", opengl_matrix(*frame.world_from_camera)}};
  const std::string text = message(std::exchange(first_, false) ? "\n" : ",\n", dump(entry), kTail);
  // What grows the file goes first: if the disk is full, the document stays as it was.
  const std::uint64_t tail = transforms_.size() - kTail.size();
  transforms_.append(std::string_view(text).substr(kTail.size()));
  transforms_.overwrite(tail, std::string_view(text).substr(0, kTail.size()));

  std::vector<ColouredPoint> points = points_of(frame, selection_, PixelPlace::middle);
  if (grid_) keep_first_in_cubes(points, *grid_);
  points_.append(points);
}

void NerfstudioWriter::finish() {
  transforms_.close();
  points_.close();
}

}  // namespace lingbot_map
