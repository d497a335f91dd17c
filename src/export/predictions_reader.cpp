#include "export/predictions_reader.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/message.hpp"
#include "base/numbered_name.hpp"
#include "base/text.hpp"
#include "export/array_archive.hpp"

namespace lingbot_map {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kPrefix = "frame_";
constexpr std::string_view kExtension = ".npz";
constexpr std::int64_t kMostSide = 1 << 15;  // pixels

std::string archive_name(std::int64_t index) { return numbered_name(kPrefix, index, kExtension); }

/// The number of frames in a folder: 0, 1, ... without a gap.
std::int64_t count_frames(const fs::path& folder) {
  std::int64_t count = 0;
  std::int64_t last = -1;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const auto number = number_in_name(entry->path().filename().string(), kPrefix, kExtension);
    if (!number) continue;
    ++count;
    last = std::max(last, *number);
  }
  if (error)
    fail(ErrorCode::input, folder.string(), ": cannot be read as a folder: ", error.message(),
         "; expected the predictions of run --save_predictions or of the public batch program");
  if (count == 0)
    fail(ErrorCode::input, folder.string(),
         ": found no frame_000000.npz, expected the predictions of run --save_predictions or of the public batch "
         "program");
  std::int64_t frame = 0;
  while (frame <= last && fs::exists(folder / archive_name(frame), error)) ++frame;
  if (frame <= last)
    fail(ErrorCode::input, folder.string(), ": found archives up to ", archive_name(last), ", but no ",
         archive_name(frame), "; expected every frame from 0 on");
  return count;
}

/// Throws unless the array has this shape.
void require_shape(const ArrayArchive& archive, std::string_view name, const FloatArray& array,
                   const std::vector<std::int64_t>& shape) {
  if (array.shape != shape)
    fail(ErrorCode::input, archive.name(), ": ", name, ": found the shape ", shape_text(array.shape), ", expected ",
         shape_text(shape));
}

/// [H, W] or [H, W, 1].
FloatArray read_map(const ArrayArchive& archive, std::string_view name, FloatArray array) {
  if (array.shape.size() == 3 && array.shape[2] == 1) array.shape.pop_back();
  const bool picture = array.shape.size() == 2 && array.shape[0] > 0 && array.shape[1] > 0 &&
                       array.shape[0] <= kMostSide && array.shape[1] <= kMostSide;
  if (!picture)
    fail(ErrorCode::input, archive.name(), ": ", name, ": found the shape ", shape_text(array.shape),
         ", expected (height, width)");
  return array;
}

std::uint8_t byte_of(float value, bool was_bytes) {
  const double scaled = was_bytes ? value : std::round(255.0 * value);
  return scaled > 0 ? static_cast<std::uint8_t>(std::min(scaled, 255.0)) : std::uint8_t{0};
}

Image read_image(const ArrayArchive& archive, int width, int height) {
  const FloatArray array = archive.get("images");
  const std::vector<std::int64_t> planes = {3, height, width};
  const bool interleaved = array.shape == std::vector<std::int64_t>{height, width, 3};
  if (!interleaved) require_shape(archive, "images", array, planes);
  Image image(width, height);
  const std::size_t pixels = image.pixels.size() / 3;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel)
    for (std::size_t channel = 0; channel < 3; ++channel)
      image.pixels[3 * pixel + channel] =
          byte_of(array.values[interleaved ? 3 * pixel + channel : channel * pixels + pixel], array.bytes);
  return image;
}

Intrinsics read_intrinsic(const ArrayArchive& archive) {
  const FloatArray k = archive.get("intrinsic");
  require_shape(archive, "intrinsic", k, {3, 3});
  return {k.values[0], k.values[4], k.values[2], k.values[5]};
}

bool same_in_float(const Intrinsics& a, const Intrinsics& b) {
  const auto same = [](double x, double y) {
    return static_cast<float>(x) == static_cast<float>(y) || (std::isnan(x) && std::isnan(y));
  };
  return same(a.fx, b.fx) && same(a.fy, b.fy) && same(a.cx, b.cx) && same(a.cy, b.cy);
}

/// The encoding of a frame that has matrices alone.
PoseEncoding encoding_of_matrices(const ArrayArchive& archive, const Intrinsics& intrinsics, int width, int height) {
  const FloatArray e = archive.get("extrinsic");
  require_shape(archive, "extrinsic", e, {3, 4});
  Rigid3 camera_from_world;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      camera_from_world.rotation[3 * row + column] = e.values[4 * row + column];
    camera_from_world.translation[row] = e.values[4 * row + 3];
  }
  return encode_camera(camera_from_world.inverse(), intrinsics, width, height);
}

void read_camera(const ArrayArchive& archive, PredictedFrame& frame) {
  const int width = frame.result.width;
  const int height = frame.result.height;
  const Intrinsics stored = read_intrinsic(archive);
  if (const auto encoding = archive.find("pose_enc")) {
    require_shape(archive, "pose_enc", *encoding, {9});
    std::ranges::copy(encoding->values, frame.result.pose_enc.begin());
  } else {
    frame.result.pose_enc = encoding_of_matrices(archive, stored, width, height);
  }
  if (!same_in_float(stored, intrinsics_of(frame.result.pose_enc, width, height))) frame.meta.camera = stored;
}

void read_maps(const ArrayArchive& archive, PredictedFrame& frame) {
  FloatArray depth = read_map(archive, "depth", archive.get("depth"));
  auto confidence = archive.find("depth_conf");
  if (!confidence) confidence = archive.find("confidence");
  FloatArray map = read_map(archive, "depth_conf", confidence ? *std::move(confidence) : archive.get("depth_conf"));
  require_shape(archive, "depth_conf", map, depth.shape);
  frame.result.height = static_cast<int>(depth.shape[0]);
  frame.result.width = static_cast<int>(depth.shape[1]);
  frame.result.depth = std::move(depth.values);
  frame.result.depth_conf = std::move(map.values);
}

void read_world_points(const ArrayArchive& archive, FrameResult& result) {
  auto points = archive.find("world_points");
  auto confidence = archive.find("world_points_conf");
  if (!points || !confidence) return;
  require_shape(archive, "world_points", *points, {result.height, result.width, 3});
  require_shape(archive, "world_points_conf", *confidence, {result.height, result.width});
  result.world_points = std::move(points->values);
  result.world_points_conf = std::move(confidence->values);
}

}  // namespace

/// frames.jsonl, read line by line.
class PredictionsReader::Sidecar {
 public:
  explicit Sidecar(const fs::path& path) : name_(path.string()), file_(path) {
    if (!file_) fail(ErrorCode::input, name_, ": cannot be opened; check its permissions");
    const Json first = line("the first line");
    if (const auto units = first.find("units"); units != first.end() && units->is_string()) units_ = *units;
  }

  [[nodiscard]] const std::string& units() const noexcept { return units_; }

  /// Fills in what the line of a frame says.
  void read(std::int64_t index, PredictedFrame& frame) {
    const Json json = line(message("the line of frame ", index));
    try {
      if (json.at("index").get<std::int64_t>() != index)
        fail(ErrorCode::input, name_, ": found frame ", json.at("index").dump(), ", expected ", index);
      const int type = json.at("type").get<int>();
      frame.result.type = type == 0 ? FrameType::scale : type == 2 ? FrameType::non_keyframe : FrameType::keyframe;
      frame.meta.timestamp = json.at("timestamp").get<double>();
      frame.meta.name = json.at("name").get<std::string>();
      frame.meta.file = json.at("file").get<std::string>();
      const Json& original = json.at("original");
      frame.meta.original = {original.at(0).get<int>(),    original.at(1).get<int>(),    original.at(2).get<double>(),
                             original.at(3).get<double>(), original.at(4).get<double>(), original.at(5).get<double>()};
    } catch (const Json::exception& error) {
      fail(ErrorCode::input, name_, ": the line of frame ", index, ": ", printable(error.what()));
    }
    const OriginalPixels& original = frame.meta.original;
    if (!(original.width > 0 && original.height > 0 && original.scale_x > 0 && original.scale_y > 0))
      fail(ErrorCode::input, name_, ": the line of frame ", index, ": found an original picture of ", original.width,
           " x ", original.height, " pixels and scales ", original.scale_x, ", ", original.scale_y,
           ", expected positive ones");
  }

 private:
  Json line(const std::string& what) {
    constexpr std::size_t kLongestLine = 1 << 16;
    std::string text;
    for (char c = 0; file_.get(c) && c != '\n' && text.size() <= kLongestLine;) text += c;
    if (text.empty()) fail(ErrorCode::input, name_, ": ", what, " is missing; the file is incomplete");
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) fail(ErrorCode::input, name_, ": ", what, " is no JSON object: ", printable(text, 60));
    return json;
  }

  std::string name_;
  std::ifstream file_;
  std::string units_;
};

PredictionsReader::PredictionsReader(const fs::path& folder, double fps)
    : folder_(folder), fps_(fps), frames_(count_frames(folder)) {
  std::error_code error;
  if (fs::exists(folder / "frames.jsonl", error)) {
    sidecar_ = std::make_unique<Sidecar>(folder / "frames.jsonl");
    units_text_ = sidecar_->units();
  } else if (fs::exists(folder / "meta.npz", error)) {
    if (const auto types = ArrayArchive(folder / "meta.npz").find("frame_type");
        types && types->bytes && std::cmp_equal(types->values.size(), frames_))
      frame_types_.assign(types->values.begin(), types->values.end());
  }
}

PredictionsReader::~PredictionsReader() = default;
PredictionsReader::PredictionsReader(PredictionsReader&&) noexcept = default;
PredictionsReader& PredictionsReader::operator=(PredictionsReader&&) noexcept = default;

bool PredictionsReader::has_sidecar() const noexcept { return sidecar_ != nullptr; }

std::vector<WindowRecord> PredictionsReader::windows() const {
  std::error_code error;
  if (!fs::exists(folder_ / "meta.npz", error)) return {};
  const ArrayArchive meta(folder_ / "meta.npz");
  const auto scales = meta.find("chunk_scales");
  if (!scales) return {};
  const auto count = static_cast<std::int64_t>(scales->values.size());
  std::vector<WindowRecord> windows(scales->values.size());
  for (std::size_t i = 0; i < windows.size(); ++i) windows[i].scale = scales->values[i];
  if (const auto transforms = meta.find("chunk_transforms")) {
    require_shape(meta, "chunk_transforms", *transforms, {count, 4, 4});
    for (std::size_t i = 0; i < windows.size(); ++i)
      for (std::size_t k = 0; k < 16; ++k) windows[i].transform[k] = transforms->values[16 * i + k];
  }
  return windows;
}

std::optional<PredictedFrame> PredictionsReader::next() {
  if (next_ == frames_) return std::nullopt;
  const std::int64_t index = next_++;
  const std::string name = archive_name(index);
  const ArrayArchive archive(folder_ / name);
  PredictedFrame frame;
  frame.result.index = index;
  frame.result.type = FrameType::keyframe;
  read_maps(archive, frame);
  const int width = frame.result.width;
  const int height = frame.result.height;
  if (index == 0) {
    width_ = width;
    height_ = height;
  } else if (width != width_ || height != height_) {
    fail(ErrorCode::input, archive.name(), ": found maps of ", width, " x ", height, ", expected ", width_, " x ",
         height_, " as in the first frame");
  }
  read_camera(archive, frame);
  read_world_points(archive, frame.result);
  frame.meta.image = read_image(archive, width, height);
  if (sidecar_) {
    sidecar_->read(index, frame);
  } else {
    frame.meta.timestamp = static_cast<double>(index) / fps_;
    frame.meta.name = name;
    frame.meta.original = OriginalPixels{width, height};
    if (!frame_types_.empty())
      frame.result.type =
          static_cast<FrameType>(std::min<std::uint8_t>(frame_types_[static_cast<std::size_t>(index)], 2));
  }
  return frame;
}

}  // namespace lingbot_map
