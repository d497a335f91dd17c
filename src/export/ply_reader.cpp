#include "export/ply_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kMostHeaderBytes = 64 * 1024;
constexpr std::size_t kMostVertexBytes = 4096;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::string_view kNames[] = {"x", "y", "z", "red", "green", "blue"};

/// Where the vertices lie and what one of them is.
struct Layout {
  std::uint64_t first_byte = 0;
  std::uint64_t count = 0;
  std::size_t vertex_bytes = 0;
  std::array<std::optional<std::size_t>, 6> offsets{};  ///< of kNames in a vertex
};

std::size_t bytes_of(const std::string& type, const std::string& file) {
  constexpr std::pair<std::string_view, std::size_t> kTypes[] = {
      {"char", 1},  {"uchar", 1},   {"int8", 1},   {"uint8", 1},  {"short", 2}, {"ushort", 2},
      {"int16", 2}, {"uint16", 2},  {"int", 4},    {"uint", 4},   {"int32", 4}, {"uint32", 4},
      {"float", 4}, {"float32", 4}, {"double", 8}, {"float64", 8}};
  for (const auto& [name, bytes] : kTypes)
    if (type == name) return bytes;
  fail(ErrorCode::input, file, ": found a vertex property of type \"", printable(type), "\", expected a number type");
}

void add_property(Layout& layout, const std::string& type, const std::string& name, const std::string& file) {
  const std::size_t bytes = bytes_of(type, file);
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    if (name != kNames[i]) continue;
    const bool right = i < 3 ? type == "float" || type == "float32" : type == "uchar" || type == "uint8";
    if (!right || layout.offsets[i])
      fail(ErrorCode::input, file, ": found the vertex property \"", printable(type), " ", name, "\", expected one ",
           i < 3 ? "float" : "uchar", " ", name);
    layout.offsets[i] = layout.vertex_bytes;
  }
  layout.vertex_bytes += bytes;
  if (layout.vertex_bytes > kMostVertexBytes)
    fail(ErrorCode::input, file, ": found a vertex of more than ", kMostVertexBytes, " bytes");
}

Layout read_header(const File& file) {
  const std::string head = file.read_text(0, std::min<std::uint64_t>(file.size(), kMostHeaderBytes));
  constexpr std::string_view kEnd = "\nend_header\n";
  const std::size_t end = head.find(kEnd);
  if (!head.starts_with("ply\n") || end == std::string::npos)
    fail(ErrorCode::input, file.name(), ": found no PLY header, expected \"ply\" ... \"end_header\"");

  Layout layout;
  layout.first_byte = end + kEnd.size();
  std::istringstream lines(head.substr(0, end + 1));
  int elements = 0;
  bool binary = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string first;
    std::string second;
    words >> kind >> first >> second;
    if (kind == "format") binary = first == "binary_little_endian";
    if (kind == "element" && ++elements == 1) {
      const bool number = !second.empty() && second.size() <= 18 &&
                          std::all_of(second.begin(), second.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (first != "vertex" || !number)
        fail(ErrorCode::input, file.name(), ": found \"", printable(line), "\", expected \"element vertex N\" first");
      layout.count = std::stoull(second);
    }
    if (kind == "property" && elements == 1) add_property(layout, first, second, file.name());
  }
  if (!binary) fail(ErrorCode::input, file.name(), ": found another format, expected binary_little_endian");
  for (std::size_t i = 0; i < layout.offsets.size(); ++i)
    if (!layout.offsets[i])
      fail(ErrorCode::input, file.name(), ": found no vertex property ", kNames[i], ", expected float x y z and uchar ",
           "red green blue");
  if (layout.count > (file.size() - layout.first_byte) / layout.vertex_bytes)
    fail(ErrorCode::input, file.name(), ": found ", (file.size() - layout.first_byte) / layout.vertex_bytes,
         " vertices, expected ", layout.count, " as its header says");
  return layout;
}

ColouredPoint point_at(std::span<const std::byte> vertex, const Layout& layout) {
  ColouredPoint point;
  for (std::size_t i = 0; i < 3; ++i) std::memcpy(&point.position[i], vertex.data() + *layout.offsets[i], 4);
  for (std::size_t i = 0; i < 3; ++i) std::memcpy(&point.colour[i], vertex.data() + *layout.offsets[3 + i], 1);
  return point;
}

}  // namespace

std::vector<ColouredPoint> read_ply_points(const std::filesystem::path& path, std::size_t most) {
  const File file = File::open(path);
  const Layout layout = read_header(file);
  const std::uint64_t step = std::max<std::uint64_t>((layout.count + most - 1) / std::max<std::size_t>(most, 1), 1);
  const std::uint64_t block = std::max<std::uint64_t>(kBlockBytes / layout.vertex_bytes, 1);
  std::vector<ColouredPoint> points;
  points.reserve((layout.count + step - 1) / step);
  std::vector<std::byte> bytes;
  std::uint64_t next = 0;
  for (std::uint64_t first = 0; first < layout.count; first += block) {
    bytes.resize(std::min(block, layout.count - first) * layout.vertex_bytes);
    file.read(layout.first_byte + first * layout.vertex_bytes, bytes);
    const std::uint64_t end = first + bytes.size() / layout.vertex_bytes;
    for (; next < end; next += step) {
      const auto vertex = std::span(bytes).subspan((next - first) * layout.vertex_bytes, layout.vertex_bytes);
      const ColouredPoint point = point_at(vertex, layout);
      if (std::all_of(point.position.begin(), point.position.end(), [](float x) { return std::isfinite(x); }))
        points.push_back(point);
    }
  }
  return points;
}

}  // namespace lingbot_map
