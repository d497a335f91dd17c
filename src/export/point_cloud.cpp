#include "export/point_cloud.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

static_assert(std::endian::native == std::endian::little, "points are written as they lie in memory");

constexpr std::size_t kCountWidth = 12;
constexpr std::string_view kHeaderFromCount =
    "\n"
    "property float x\n"
    "property float y\n"
    "property float z\n"
    "property uchar red\n"
    "property uchar green\n"
    "property uchar blue\n"
    "end_header\n";
constexpr std::size_t kVertexBytes = 15;

std::string header_to_count(const Units& units) {
  return message(
      "ply\n"
      "format binary_little_endian 1.0\n",
      units.changed ? "comment Points of all frames in world coordinates; camera axes are\n"
                    : "comment Points of all frames in world coordinates, which are those of the first camera or "
                      "nearly so:\n",
      "comment x right, y down, z forward; ", units.text, '\n', "element vertex ");
}

std::string count_text(std::int64_t count) {
  const std::string digits = std::to_string(count);
  check(digits.size() <= kCountWidth, "a point cloud of ", digits, " points");
  return std::string(kCountWidth - digits.size(), ' ') + digits;
}

std::array<float, 3> to_float(const Vec3& point) {
  return {static_cast<float>(point[0]), static_cast<float>(point[1]), static_cast<float>(point[2])};
}

bool finite(const std::array<float, 3>& point) {
  return std::isfinite(point[0]) && std::isfinite(point[1]) && std::isfinite(point[2]);
}

}  // namespace

std::vector<ColouredPoint> points_of(const PosedFrame& frame, const PointSelection& selection, PixelPlace place) {
  check(selection.downsample_factor > 0, "downsample factor ", selection.downsample_factor);
  if (!frame.has_camera()) return {};
  const auto width = static_cast<std::size_t>(frame.result.width);
  const double middle = place == PixelPlace::middle ? 0.5 : 0;

  const double threshold = std::max(selection.conf_threshold, 0.0);
  std::vector<ColouredPoint> points;
  int to_skip = 0;
  for (std::size_t pixel = 0; pixel < frame.result.depth.size(); ++pixel) {
    if (!(frame.result.depth_conf[pixel] > threshold)) continue;
    const double u = static_cast<double>(pixel % width) + middle;
    const double v = static_cast<double>(pixel / width) + middle;
    const auto position =
        to_float(*frame.world_from_camera * unproject(frame.intrinsics, u, v, frame.result.depth[pixel]));
    if (!finite(position)) continue;
    if (to_skip == 0) {
      const std::uint8_t* rgb = &frame.meta.image.pixels[3 * pixel];
      points.push_back({position, {rgb[0], rgb[1], rgb[2]}});
      to_skip = selection.downsample_factor;
    }
    --to_skip;
  }
  return points;
}

void keep_first_in_cubes(std::vector<ColouredPoint>& points, VoxelGrid& grid) {
  std::erase_if(points, [&](const ColouredPoint& point) {
    return !grid.insert({point.position[0], point.position[1], point.position[2]});
  });
}

PlyWriter::PlyWriter(const std::filesystem::path& path, const Units& units, const JsonFields* state)
    : file_(open_output(path, state)) {
  const std::string to_count = header_to_count(units);
  count_offset_ = to_count.size();
  if (state == nullptr) {
    file_.append(message(to_count, count_text(0), kHeaderFromCount));
    return;
  }
  constexpr std::int64_t most_points = 999'999'999'999;
  static_assert(kCountWidth == 12);
  points_ = state->integer("points", 0, most_points);
  const std::size_t header_bytes = to_count.size() + kCountWidth + kHeaderFromCount.size();
  const std::uint64_t expected = header_bytes + static_cast<std::uint64_t>(points_) * kVertexBytes;
  if (file_.size() != expected)
    fail(ErrorCode::input, state->source(), ": ", path.filename().string(), " has ", points_, " points in ",
         file_.size(), " bytes, expected ", expected, "; the file is damaged");
  file_.overwrite(count_offset_, count_text(points_));
}

void PlyWriter::append(std::span<const ColouredPoint> points) {
  if (points.empty()) return;
  std::vector<std::byte> vertices(points.size() * kVertexBytes);
  std::byte* out = vertices.data();
  for (const ColouredPoint& point : points) {
    std::memcpy(out, point.position.data(), 12);
    std::memcpy(out + 12, point.colour.data(), 3);
    out += kVertexBytes;
  }
  file_.append(vertices);
  points_ += static_cast<std::int64_t>(points.size());
  file_.overwrite(count_offset_, count_text(points_));
}

}  // namespace lingbot_map
