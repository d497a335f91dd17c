#include "export/predictions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/message.hpp"
#include "base/npy.hpp"
#include "base/numbered_name.hpp"
#include "base/zip.hpp"
#include "export/output_folder.hpp"
#include "geometry/camera.hpp"

namespace lingbot_map {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

void add_array(ZipWriter& archive, const std::string& name, std::string_view type,
               std::initializer_list<std::int64_t> shape, std::span<const std::byte> values) {
  const std::string header = npy_header(type, shape);
  archive.add(name + ".npy", {std::as_bytes(std::span(header)), values});
}

void add_floats(ZipWriter& archive, const std::string& name, std::initializer_list<std::int64_t> shape,
                std::span<const float> values) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  check(values.size() == count, name, ": ", values.size(), " values, expected ", count);
  add_array(archive, name, "<f4", shape, std::as_bytes(values));
}

/// World to camera, [3, 4].
std::array<float, 12> extrinsic_of(const std::optional<Rigid3>& world_from_camera) {
  std::array<float, 12> extrinsic{};
  extrinsic.fill(std::numeric_limits<float>::quiet_NaN());
  if (world_from_camera) {
    const Rigid3 camera_from_world = world_from_camera->inverse();
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column)
        extrinsic[row * 4 + column] = static_cast<float>(camera_from_world.rotation[row * 3 + column]);
      extrinsic[row * 4 + 3] = static_cast<float>(camera_from_world.translation[row]);
    }
  }
  return extrinsic;
}

std::array<float, 9> intrinsic_of(const Intrinsics& camera) {
  return {static_cast<float>(camera.fx),
          0,
          static_cast<float>(camera.cx),  //
          0,
          static_cast<float>(camera.fy),
          static_cast<float>(camera.cy),  //
          0,
          0,
          1};
}

/// [3, H, W].
std::vector<std::uint8_t> planes_of(const Image& image) {
  const std::size_t pixels = image.pixels.size() / 3;
  std::vector<std::uint8_t> planes(3 * pixels);
  for (std::size_t channel = 0; channel < 3; ++channel)
    for (std::size_t pixel = 0; pixel < pixels; ++pixel)
      planes[channel * pixels + pixel] = image.pixels[3 * pixel + channel];
  return planes;
}

/// The placement of a window, which meta.npz keeps in float32.
struct Placement {
  float scale = 1;
  std::array<float, 16> transform{};
};

/// In these units. From float32 on, so that what was read back from a meta.npz gives the same as the window itself.
Placement placement_of(const WindowRecord& window, const Units& units) {
  Placement placement{.scale = static_cast<float>(window.scale)};
  std::ranges::transform(window.transform, placement.transform.begin(), [](double x) { return static_cast<float>(x); });
  if (!units.changed) return placement;
  const auto& m = placement.transform;
  const Sim3 moved =
      units.output_from_network * Sim3{.scale = placement.scale,
                                       .rotation = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]},
                                       .translation = {m[3], m[7], m[11]}};
  placement.scale = static_cast<float>(moved.scale);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      placement.transform[4 * row + column] = static_cast<float>(moved.rotation[3 * row + column]);
    placement.transform[4 * row + 3] = static_cast<float>(moved.translation[row]);
  }
  return placement;
}

void add_windows(ZipWriter& archive, std::span<const WindowRecord> windows, const Units& units) {
  const auto count = static_cast<std::int64_t>(windows.size());
  std::vector<float> scales;
  std::vector<float> transforms;
  for (const WindowRecord& window : windows) {
    const Placement placement = placement_of(window, units);
    scales.push_back(placement.scale);
    transforms.insert(transforms.end(), placement.transform.begin(), placement.transform.end());
  }
  add_floats(archive, "chunk_scales", {count}, scales);
  if (count > 1) add_floats(archive, "chunk_transforms", {count, 4, 4}, transforms);
}

std::vector<float> in_unit_range(std::span<const std::uint8_t> values) {
  std::vector<float> scaled(values.size());
  std::ranges::transform(values, scaled.begin(), [](std::uint8_t value) { return static_cast<float>(value) / 255.0F; });
  return scaled;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

/// What frames.jsonl says of a frame.
nlohmann::ordered_json line_of(const PosedFrame& frame) {
  const FrameMeta& meta = frame.meta;
  const OriginalPixels& original = meta.original;
  const std::filesystem::path file = meta.file.empty() ? meta.file : std::filesystem::absolute(meta.file);
  return {
      {"index", frame.result.index},
      {"type", static_cast<int>(frame.result.type)},
      {"timestamp", meta.timestamp},
      {"name", meta.name},
      {"file", file.string()},
      {"original",
       {original.width, original.height, original.scale_x, original.scale_y, original.offset_x, original.offset_y}}};
}

constexpr std::string_view kPrefix = "frame_";
constexpr std::string_view kExtension = ".npz";
constexpr std::string_view kMeta = "meta.npz";
constexpr const char* kFrames = "frames.jsonl";

/// The types of frames as a state has them, a digit a frame; none without a state.
std::vector<std::uint8_t> frame_types_of(const JsonFields* state) {
  std::vector<std::uint8_t> types;
  if (state == nullptr) return types;
  for (const char digit : state->text("frame_types")) {
    if (digit < '0' || digit > '2')
      fail(ErrorCode::input, state->source(), ": frame_types has a digit that is none of 0, 1, 2; the file is damaged");
    types.push_back(static_cast<std::uint8_t>(digit - '0'));
  }
  return types;
}

/// The folder, without what an earlier run left there after so many frames.
std::filesystem::path cleared(const std::filesystem::path& folder, std::size_t frames) {
  make_output_folder(folder);
  std::error_code error;
  for (const std::string_view end : {"", ".part"}) {
    if (!error) std::filesystem::remove(folder / message(kMeta, end), error);
  }
  if (error) {
    fail(ErrorCode::output, folder.string(), ": files of an earlier run cannot be removed: ", error.message(),
         "; check the folder's permissions");
  }
  remove_numbered_files(folder, kPrefix, kExtension, static_cast<std::int64_t>(frames));
  return folder;
}

OutputFile open_frames(const std::filesystem::path& folder, const JsonFields* state) {
  if (state == nullptr) return OutputFile(folder / kFrames);
  const JsonFields part = state->object(kFrames);
  return open_output(folder / kFrames, &part);
}

}  // namespace

PredictionsWriter::PredictionsWriter(const std::filesystem::path& folder, const Units& units, Images images,
                                     const JsonFields* state)
    : frame_types_(frame_types_of(state)),
      folder_(cleared(folder, frame_types_.size())),
      units_(units),
      images_(images),
      frames_(open_frames(folder_, state)) {
  if (state == nullptr)
    frames_.append(dump({{"units", units.changed ? nlohmann::ordered_json(units.text) : nlohmann::ordered_json()}}));
}

WriterState PredictionsWriter::state() const {
  std::string types;
  for (const std::uint8_t type : frame_types_) types += static_cast<char>('0' + type);
  return {{"frame_types", types}, {kFrames, {{"bytes", frames_.size()}}}};
}

void PredictionsWriter::write(const PosedFrame& frame) {
  const FrameResult& result = frame.result;
  const std::int64_t width = result.width;
  const std::int64_t height = result.height;
  const auto extrinsic = extrinsic_of(frame.world_from_camera);
  const auto intrinsic = intrinsic_of(frame.intrinsics);
  const std::vector<std::uint8_t> planes = planes_of(frame.meta.image);

  frames_.append(dump(line_of(frame)));
  ZipWriter archive(folder_ / numbered_name(kPrefix, result.index, kExtension));
  add_floats(archive, "pose_enc", {9}, result.pose_enc);
  add_floats(archive, "depth", {height, width, 1}, result.depth);
  add_floats(archive, "depth_conf", {height, width}, result.depth_conf);
  add_floats(archive, "extrinsic", {3, 4}, extrinsic);
  add_floats(archive, "intrinsic", {3, 3}, intrinsic);
  if (images_ == Images::bytes) {
    add_array(archive, "images", "|u1", {3, height, width}, std::as_bytes(std::span(planes)));
  } else {
    add_floats(archive, "images", {3, height, width}, in_unit_range(planes));
  }
  if (!result.world_points.empty()) {
    add_floats(archive, "world_points", {height, width, 3}, result.world_points);
    add_floats(archive, "world_points_conf", {height, width}, result.world_points_conf);
  }
  archive.finish();
  frame_types_.push_back(static_cast<std::uint8_t>(result.type));
}

void PredictionsWriter::finish(std::span<const WindowRecord> windows) {
  frames_.close();
  const auto frames = static_cast<std::int64_t>(frame_types_.size());
  std::vector<std::uint8_t> is_keyframe;
  is_keyframe.reserve(frame_types_.size());
  for (const std::uint8_t type : frame_types_)
    is_keyframe.push_back(type != static_cast<std::uint8_t>(FrameType::non_keyframe) ? 1 : 0);

  ZipWriter archive(folder_ / kMeta);
  add_array(archive, "frame_type", "|u1", {1, frames}, std::as_bytes(std::span(frame_types_)));
  add_array(archive, "is_keyframe", "|b1", {1, frames}, std::as_bytes(std::span(is_keyframe)));
  if (!windows.empty()) add_windows(archive, windows, units_);
  archive.finish();
}

}  // namespace lingbot_map
