#include "export/glb.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/file.hpp"
#include "base/little_endian.hpp"
#include "base/message.hpp"

namespace lingbot_map {
namespace {

static_assert(std::endian::native == std::endian::little, "vertices are written as they lie in memory");

using Json = nlohmann::ordered_json;

// File header, chunk header, document, chunk header; then the vertices.
constexpr std::size_t kDocumentStart = 20;
constexpr std::size_t kDocumentBytes = 4096;
constexpr std::size_t kDataStart = kDocumentStart + kDocumentBytes + 8;
constexpr std::string_view kJsonChunk = "JSON";
constexpr std::string_view kBinaryChunk{"BIN\0", 4};

/// Position and colour.
struct Vertex {
  std::array<float, 3> position;
  std::array<std::uint8_t, 4> colour;
};
static_assert(sizeof(Vertex) == 16);

constexpr std::size_t kPyramidVertices = 5;
constexpr std::array<std::uint32_t, 16> kPyramidLines = {0, 1, 0, 2, 0, 3, 0, 4, 1, 2, 2, 3, 3, 4, 4, 1};
constexpr std::size_t kPyramidBytes = kPyramidVertices * sizeof(Vertex) + sizeof(kPyramidLines) + 8;
constexpr std::uint64_t kMostCameras = 1'500'000;  // what fits behind kMostPoints
static_assert(kDataStart + GlbWriter::kMostPoints * sizeof(Vertex) + kMostCameras * kPyramidBytes < 0xffffffff);

// Constants of glTF.
constexpr int kArrayBuffer = 34962;
constexpr int kElementArrayBuffer = 34963;
constexpr int kFloat = 5126;
constexpr int kUnsignedByte = 5121;
constexpr int kUnsignedInt = 5125;
constexpr int kPoints = 0;
constexpr int kLines = 1;

/// Blue for the first camera over green to red for the last.
std::array<std::uint8_t, 4> colour_of_order(double share) {
  const auto byte = [](double value) {
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
  };
  return {byte(2 * share - 0.5), byte(1.2 - std::abs(2.4 * share - 1.2)), byte(1.3 - 2.2 * share), 255};
}

std::array<float, 3> to_float(const Vec3& v) {
  return {static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2])};
}

bool finite(const Vec3& v) {
  const auto rounded = to_float(v);
  return std::ranges::all_of(rounded, [](float x) { return std::isfinite(x); });
}

Json positions(int view, std::uint64_t count, const std::array<float, 3>& low, const std::array<float, 3>& high) {
  return {{"bufferView", view}, {"componentType", kFloat}, {"count", count}, {"type", "VEC3"}, {"min", low},
          {"max", high}};
}

Json colours(int view, std::uint64_t count) {
  return {{"bufferView", view}, {"byteOffset", 12}, {"componentType", kUnsignedByte},
          {"normalized", true}, {"count", count},   {"type", "VEC4"}};
}

}  // namespace

void GlbWriter::Bounds::add(const std::array<float, 3>& position, bool first) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    low[axis] = first ? position[axis] : std::min(low[axis], position[axis]);
    high[axis] = first ? position[axis] : std::max(high[axis], position[axis]);
  }
}

GlbWriter::GlbWriter(const std::filesystem::path& path, const Units& units, std::uint64_t most_points)
    : cameras_path_(path.string() + ".cameras.part"),
      file_(path),
      cameras_(cameras_path_),
      units_text_(units.text),
      most_points_(most_points) {
  file_.append(std::string(kDocumentStart + kDocumentBytes, ' '));
  update_header();
}

GlbWriter::~GlbWriter() {
  std::error_code ignored;
  std::filesystem::remove(cameras_path_, ignored);
}

void GlbWriter::write(const PosedFrame& frame, std::span<const ColouredPoint> points) {
  write_points(frame, points);
  if (!frame.has_pinhole() || !finite(frame.world_from_camera->translation) || camera_count_ == kMostCameras) return;
  const Intrinsics& k = frame.intrinsics;
  const Camera camera{
      *frame.world_from_camera,
      {-k.cx / k.fx, -k.cy / k.fy, (frame.result.width - k.cx) / k.fx, (frame.result.height - k.cy) / k.fy}};
  cameras_.append(std::as_bytes(std::span(&camera, 1)));
  ++camera_count_;
}

void GlbWriter::finish() {
  cameras_.close();
  write_cameras();
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(cameras_path_, ignored);
}

std::vector<std::string> GlbWriter::warnings() const {
  if (left_out_ == 0) return {};
  return {message(file_.name(), ": holds ", points_, " points, as many as fit; ", left_out_, " from frame ",
                  first_left_out_, " on are left out; give a --voxel_size or a larger --downsample_factor")};
}

void GlbWriter::write_points(const PosedFrame& frame, std::span<const ColouredPoint> points) {
  const std::size_t room = static_cast<std::size_t>(std::min<std::uint64_t>(most_points_ - points_, points.size()));
  if (room < points.size()) {
    if (left_out_ == 0) first_left_out_ = frame.result.index;
    left_out_ += points.size() - room;
  }
  if (room == 0) return;
  std::vector<Vertex> vertices;
  vertices.reserve(room);
  for (const ColouredPoint& point : points.first(room)) {
    vertices.push_back({point.position, {point.colour[0], point.colour[1], point.colour[2], 255}});
    point_bounds_.add(point.position, points_ + vertices.size() == 1);
  }
  append(std::as_bytes(std::span(vertices)));
  points_ += room;
  update_header();
  if (!frame.has_camera()) return;
  const Rigid3 camera_from_world = frame.world_from_camera->inverse();
  for (const Vertex& vertex : vertices) {
    const auto& p = vertex.position;
    depth_sum_ += std::abs((camera_from_world * Vec3{p[0], p[1], p[2]})[2]);
  }
  depths_ += room;
}

/// The pyramids of all cameras, the lines between their corners, and those between their tips.
void GlbWriter::write_cameras() {
  if (camera_count_ == 0) return;
  const double depth = depths_ > 0 ? kPyramidShare * depth_sum_ / static_cast<double>(depths_) : kPyramidShare;
  const File waiting = File::open(cameras_path_);
  for (std::uint64_t i = 0; i < camera_count_; ++i) {
    Camera camera;
    waiting.read(i * sizeof(Camera), std::as_writable_bytes(std::span(&camera, 1)));
    const auto [left, top, right, bottom] = camera.edges;
    const std::array<Vec3, kPyramidVertices> corners = {
        Vec3{0, 0, 0}, Vec3{left * depth, top * depth, depth}, Vec3{right * depth, top * depth, depth},
        Vec3{right * depth, bottom * depth, depth}, Vec3{left * depth, bottom * depth, depth}};
    const auto colour =
        colour_of_order(camera_count_ > 1 ? static_cast<double>(i) / static_cast<double>(camera_count_ - 1) : 0);
    std::array<Vertex, kPyramidVertices> vertices{};
    for (std::size_t corner = 0; corner < corners.size(); ++corner) {
      const Vec3 place = camera.world_from_camera * corners[corner];
      const auto position = to_float(finite(place) ? place : camera.world_from_camera.translation);
      vertices[corner] = {position, colour};
      camera_bounds_.add(position, i == 0 && corner == 0);
    }
    append(std::as_bytes(std::span(vertices)));
  }
  for (std::uint64_t i = 0; i < camera_count_; ++i) {
    std::array<std::uint32_t, kPyramidLines.size()> lines = kPyramidLines;
    for (std::uint32_t& corner : lines) corner += static_cast<std::uint32_t>(i * kPyramidVertices);
    append(std::as_bytes(std::span(lines)));
  }
  for (std::uint64_t i = 1; i < camera_count_; ++i) {  // the way is from tip to tip
    const auto tip = static_cast<std::uint32_t>(i * kPyramidVertices);
    const std::array<std::uint32_t, 2> step = {tip - static_cast<std::uint32_t>(kPyramidVertices), tip};
    append(std::as_bytes(std::span(step)));
  }
  drawn_cameras_ = camera_count_;
  update_header();
}

void GlbWriter::append(std::span<const std::byte> bytes) {
  if (bytes_ == 0) file_.append(std::string(8, '\0'));  // the header of the chunk, which must not be empty
  file_.append(bytes);
  bytes_ += bytes.size();
}

void GlbWriter::update_header() {
  std::string text = document();
  check(text.size() <= kDocumentBytes, "a glTF document of ", text.size(), " bytes");
  text.resize(kDocumentBytes, ' ');
  const std::uint64_t end = bytes_ == 0 ? kDataStart - 8 : kDataStart + bytes_;
  std::string header = "glTF";
  append_le(header, std::uint32_t{2});
  append_le(header, static_cast<std::uint32_t>(end));
  append_le(header, static_cast<std::uint32_t>(kDocumentBytes));
  header.append(kJsonChunk).append(text);
  if (bytes_ > 0) {
    append_le(header, static_cast<std::uint32_t>(bytes_));
    header.append(kBinaryChunk);
  }
  file_.overwrite(0, header);
}

std::string GlbWriter::document() const {
  Json views = Json::array();
  Json accessors = Json::array();
  Json meshes = Json::array();
  Json nodes = Json::array({{{"name", "world"}, {"rotation", {1, 0, 0, 0}}}});
  const auto add_view = [&](std::uint64_t offset, std::uint64_t bytes, int target, std::size_t stride) {
    Json view = {{"buffer", 0}, {"byteOffset", offset}, {"byteLength", bytes}, {"target", target}};
    if (stride > 0) view["byteStride"] = stride;
    views.push_back(std::move(view));
    return static_cast<int>(views.size()) - 1;
  };
  const auto add_mesh = [&](const char* name, Json primitive) {
    nodes.push_back({{"name", name}, {"mesh", meshes.size()}});
    meshes.push_back({{"name", name}, {"primitives", Json::array({std::move(primitive)})}});
  };

  if (points_ > 0) {
    const int view = add_view(0, points_ * sizeof(Vertex), kArrayBuffer, sizeof(Vertex));
    accessors.push_back(positions(view, points_, point_bounds_.low, point_bounds_.high));
    accessors.push_back(colours(view, points_));
    add_mesh("points", {{"mode", kPoints}, {"attributes", {{"POSITION", 0}, {"COLOR_0", 1}}}});
  }
  if (drawn_cameras_ > 0) {
    const std::uint64_t start = points_ * sizeof(Vertex);
    const std::uint64_t vertices = drawn_cameras_ * kPyramidVertices;
    const std::uint64_t lines = drawn_cameras_ * kPyramidLines.size();
    const auto first = static_cast<int>(accessors.size());
    const int view = add_view(start, vertices * sizeof(Vertex), kArrayBuffer, sizeof(Vertex));
    accessors.push_back(positions(view, vertices, camera_bounds_.low, camera_bounds_.high));
    accessors.push_back(colours(view, vertices));
    const int line_view = add_view(start + vertices * sizeof(Vertex), lines * 4, kElementArrayBuffer, 0);
    accessors.push_back(
        {{"bufferView", line_view}, {"componentType", kUnsignedInt}, {"count", lines}, {"type", "SCALAR"}});
    add_mesh("cameras",
             {{"mode", kLines}, {"attributes", {{"POSITION", first}, {"COLOR_0", first + 1}}}, {"indices", first + 2}});
    if (drawn_cameras_ > 1) {
      const std::uint64_t steps = 2 * (drawn_cameras_ - 1);
      const int step_view = add_view(start + vertices * sizeof(Vertex) + lines * 4, steps * 4, kElementArrayBuffer, 0);
      accessors.push_back(
          {{"bufferView", step_view}, {"componentType", kUnsignedInt}, {"count", steps}, {"type", "SCALAR"}});
      add_mesh(
          "path",
          {{"mode", kLines}, {"attributes", {{"POSITION", first}, {"COLOR_0", first + 1}}}, {"indices", first + 3}});
    }
  }

  for (std::size_t child = 1; child < nodes.size(); ++child) nodes[0]["children"].push_back(child);
  Json gltf = {
      {"asset",
       {{"version", "2.0"}, {"generator", "lingbot-map"}, {"extras", {{"units", units_text_.substr(0, 400)}}}}},
      {"scene", 0},
      {"scenes", Json::array({{{"nodes", {0}}}})},
      {"nodes", nodes}};
  if (!meshes.empty()) {
    gltf["meshes"] = meshes;
    gltf["accessors"] = accessors;
    gltf["bufferViews"] = views;
    gltf["buffers"] = Json::array({{{"byteLength", bytes_}}});
  }
  return gltf.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lingbot_map
