#include "evaluation/depth_map.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/npy.hpp"
#include "base/text.hpp"
#include "base/zip.hpp"

namespace lingbot_map {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
constexpr std::size_t kMostHeaderBytes = 1024;

/// Bytes with a length that can be read from anywhere.
struct Content {
  std::string name;
  std::uint64_t size = 0;
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t side : shape) text += (text.empty() ? "" : ", ") + std::to_string(side);
  return "(" + text + ")";
}

/// The two sides of a picture; sides of one before or behind them are left out.
DepthMap map_of_shape(std::vector<std::int64_t> shape, const std::string& name) {
  const std::string found = shape_text(shape);
  if (shape.size() == 3 && shape.back() == 1) {
    shape.pop_back();
  } else if (shape.size() == 3 && shape.front() == 1) {
    shape.erase(shape.begin());
  }
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[0] > kMostPixels / shape[1])
    fail(ErrorCode::input, name, ": found an array of shape ", found, ", expected a depth map (height, width)");
  return {static_cast<int>(shape[1]), static_cast<int>(shape[0]), {}};
}

template <typename T>
void read_values(const Content& content, std::uint64_t offset, std::vector<float>& values) {
  std::vector<T> stored(values.size());
  content.read(offset, std::as_writable_bytes(std::span(stored)));
  std::ranges::transform(stored, values.begin(), [](T value) { return static_cast<float>(value); });
}

DepthMap parse(const Content& content) {
  std::string head(std::min<std::uint64_t>(content.size, kMostHeaderBytes), '\0');
  content.read(0, std::as_writable_bytes(std::span(head)));
  const NpyHeader header = parse_npy_header(head, content.name);
  const bool single = header.type == "<f4";
  if (!single && header.type != "<f8")
    fail(ErrorCode::input, content.name, ": found values of type ", printable(header.type, 20),
         ", expected float32 or float64 (<f4, <f8)");
  if (header.fortran_order)
    fail(ErrorCode::input, content.name, ": found values column by column, expected rows; save a contiguous array");
  DepthMap map = map_of_shape(header.shape, content.name);
  const std::uint64_t pixels = static_cast<std::uint64_t>(map.width) * static_cast<std::uint64_t>(map.height);
  const std::uint64_t expected = header.data_offset + pixels * (single ? 4 : 8);
  if (content.size != expected)
    fail(ErrorCode::input, content.name, ": found ", content.size, " bytes, expected ", expected, " for ", map.width,
         " x ", map.height, " pixels; is the file cut off?");
  map.values.resize(pixels);
  if (single) {
    read_values<float>(content, header.data_offset, map.values);
  } else {
    read_values<double>(content, header.data_offset, map.values);
  }
  return map;
}

DepthMap read_archive(const std::filesystem::path& path) {
  const ZipReader archive(File::open(path));
  const ZipEntry* entry = archive.find("depth.npy");
  if (entry == nullptr)
    fail(ErrorCode::input, path.string(), ": found no array \"depth\", expected one as run --save_predictions writes");
  return parse({path.string() + ": depth.npy", entry->size,
                [&](std::uint64_t offset, std::span<std::byte> out) { archive.read(*entry, offset, out); }});
}

}  // namespace

DepthMap read_depth_array(const std::filesystem::path& path) {
  if (path.extension() == ".npz") return read_archive(path);
  const File file = File::open(path);
  return parse(
      {file.name(), file.size(), [&](std::uint64_t offset, std::span<std::byte> out) { file.read(offset, out); }});
}

}  // namespace lingbot_map
