#include "export/predictions.hpp"

#include <array>
#include <bit>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/message.hpp"
#include "base/npy.hpp"
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
std::array<float, 12> extrinsic_of(const PoseEncoding& encoding) {
  std::array<float, 12> extrinsic{};
  extrinsic.fill(std::numeric_limits<float>::quiet_NaN());
  if (const auto world = world_from_camera(encoding)) {
    const Rigid3 camera_from_world = world->inverse();
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

/// [3, H, W] in 0..1.
std::vector<float> planes_of(const Image& image) {
  const std::size_t pixels = image.pixels.size() / 3;
  std::vector<float> planes(3 * pixels);
  for (std::size_t channel = 0; channel < 3; ++channel)
    for (std::size_t pixel = 0; pixel < pixels; ++pixel)
      planes[channel * pixels + pixel] = static_cast<float>(image.pixels[3 * pixel + channel]) / 255.0F;
  return planes;
}

constexpr std::string_view kPrefix = "frame_";
constexpr std::string_view kExtension = ".npz";
constexpr std::string_view kMeta = "meta.npz";

/// The types of frames as a state has them: a digit a frame.
std::vector<std::uint8_t> frame_types_of(const JsonFields& state) {
  std::vector<std::uint8_t> types;
  for (const char digit : state.text("frame_types")) {
    if (digit < '0' || digit > '2')
      fail(ErrorCode::input, state.source(), ": frame_types has a digit that is none of 0, 1, 2; the file is damaged");
    types.push_back(static_cast<std::uint8_t>(digit - '0'));
  }
  return types;
}

void add_windows(ZipWriter& archive, std::span<const WindowRecord> windows) {
  const auto count = static_cast<std::int64_t>(windows.size());
  std::vector<float> scales;
  std::vector<float> transforms;
  for (const WindowRecord& window : windows) {
    scales.push_back(static_cast<float>(window.scale));
    for (const double value : window.transform) transforms.push_back(static_cast<float>(value));
  }
  add_floats(archive, "chunk_scales", {count}, scales);
  if (count > 1) add_floats(archive, "chunk_transforms", {count, 4, 4}, transforms);
}

}  // namespace

PredictionsWriter::PredictionsWriter(const std::filesystem::path& folder, const JsonFields* state) : folder_(folder) {
  if (state != nullptr) frame_types_ = frame_types_of(*state);
  make_output_folder(folder);
  std::error_code error;
  for (const std::string_view end : {"", ".part"}) {
    if (!error) std::filesystem::remove(folder / message(kMeta, end), error);
  }
  if (error) {
    fail(ErrorCode::output, folder.string(), ": files of an earlier run cannot be removed: ", error.message(),
         "; check the folder's permissions");
  }
  remove_numbered_files(folder, kPrefix, kExtension, static_cast<std::int64_t>(frame_types_.size()));
}

WriterState PredictionsWriter::state() const {
  std::string types;
  for (const std::uint8_t type : frame_types_) types += static_cast<char>('0' + type);
  return {{"frame_types", types}};
}

void PredictionsWriter::write(const FrameResult& result, const Image& image) {
  const std::int64_t width = result.width;
  const std::int64_t height = result.height;
  check(image.width == width && image.height == height, "frame ", result.index, ": the image is ", image.width, " x ",
        image.height, ", expected ", width, " x ", height);
  const auto extrinsic = extrinsic_of(result.pose_enc);
  const auto intrinsic = intrinsic_of(intrinsics_of(result.pose_enc, result.width, result.height));

  ZipWriter archive(folder_ / numbered_name(kPrefix, result.index, kExtension));
  add_floats(archive, "pose_enc", {9}, result.pose_enc);
  add_floats(archive, "depth", {height, width, 1}, result.depth);
  add_floats(archive, "depth_conf", {height, width}, result.depth_conf);
  add_floats(archive, "extrinsic", {3, 4}, extrinsic);
  add_floats(archive, "intrinsic", {3, 3}, intrinsic);
  add_floats(archive, "images", {3, height, width}, planes_of(image));
  if (!result.world_points.empty()) {
    add_floats(archive, "world_points", {height, width, 3}, result.world_points);
    add_floats(archive, "world_points_conf", {height, width}, result.world_points_conf);
  }
  archive.finish();
  frame_types_.push_back(static_cast<std::uint8_t>(result.type));
}

void PredictionsWriter::finish(std::span<const WindowRecord> windows) {
  const auto frames = static_cast<std::int64_t>(frame_types_.size());
  std::vector<std::uint8_t> is_keyframe;
  is_keyframe.reserve(frame_types_.size());
  for (const std::uint8_t type : frame_types_)
    is_keyframe.push_back(type != static_cast<std::uint8_t>(FrameType::non_keyframe) ? 1 : 0);

  ZipWriter archive(folder_ / kMeta);
  add_array(archive, "frame_type", "|u1", {1, frames}, std::as_bytes(std::span(frame_types_)));
  add_array(archive, "is_keyframe", "|b1", {1, frames}, std::as_bytes(std::span(is_keyframe)));
  if (!windows.empty()) add_windows(archive, windows);
  archive.finish();
}

}  // namespace lingbot_map
