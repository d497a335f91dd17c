#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "temporary_folder.hpp"

/// Readers of what the export room writes, made from the formats' descriptions and nothing of the project's own.
namespace lingbot_map::test {

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::istringstream text(content_of(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// The numbers of every line that is no comment.
inline std::vector<std::vector<double>> table_of(const std::filesystem::path& path) {
  std::vector<std::vector<double>> rows;
  for (const std::string& line : lines_of(path)) {
    if (line.starts_with('#')) continue;
    std::vector<double> row;
    std::istringstream words(line);
    for (std::string word; words >> word;) row.push_back(std::stod(word));
    rows.push_back(row);
  }
  return rows;
}

template <typename T>
T value_at(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) throw std::runtime_error("the file is too short");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct PlyVertex {
  float x, y, z;
  int red, green, blue;
  friend bool operator==(const PlyVertex&, const PlyVertex&) = default;
};

struct Ply {
  std::string header;
  std::vector<PlyVertex> vertices;
  std::size_t bytes_after = 0;  ///< that the header does not count
};

inline Ply read_ply(const std::filesystem::path& path) {
  const std::string file = content_of(path);
  const std::size_t end = file.find("end_header\n");
  if (end == std::string::npos) throw std::runtime_error("no end of the header");
  Ply ply;
  ply.header = file.substr(0, end);

  std::istringstream header(ply.header);
  std::string line;
  std::string properties;
  std::size_t count = 0;
  if (!std::getline(header, line) || line != "ply") throw std::runtime_error("not a PLY file");
  while (std::getline(header, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "format" && line != "format binary_little_endian 1.0") throw std::runtime_error(line);
    if (word == "element" && !(words >> word && word == "vertex" && words >> count)) throw std::runtime_error(line);
    if (word == "property") properties += line.substr(9) + ';';
  }
  if (properties != "float x;float y;float z;uchar red;uchar green;uchar blue;") throw std::runtime_error(properties);

  std::size_t at = end + 11;
  for (std::size_t i = 0; i < count; ++i, at += 15) {
    const auto colour = [&](int channel) { return value_at<std::uint8_t>(file, at + 12 + channel); };
    ply.vertices.push_back({value_at<float>(file, at), value_at<float>(file, at + 4), value_at<float>(file, at + 8),
                            colour(0), colour(1), colour(2)});
  }
  ply.bytes_after = file.size() - at;
  return ply;
}

/// An array of a NumPy archive.
struct Array {
  std::string type;   ///< "<f4"
  std::string shape;  ///< "3,4"
  std::string bytes;

  template <typename T>
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

inline Array read_npy(std::string_view bytes) {
  if (!bytes.starts_with(std::string_view("\x93NUMPY\x01\x00", 8))) throw std::runtime_error("not an npy file");
  const std::size_t start = 10 + value_at<std::uint16_t>(bytes, 8);
  const std::string header(bytes.substr(10, start - 10));
  if (start % 64 != 0 || header.find("'fortran_order': False") == std::string::npos) throw std::runtime_error(header);
  const auto between = [&](std::string_view left, char right) {
    const std::size_t from = header.find(left) + left.size();
    return header.substr(from, header.find(right, from) - from);
  };
  Array array{between("'descr': '", '\''), {}, std::string(bytes.substr(start))};
  for (const char c : between("'shape': (", ')'))
    if (c != ' ') array.shape += c;
  if (array.shape.ends_with(',')) array.shape.pop_back();
  return array;
}

/// Reads a zip archive whose entries are stored, by its central directory.
inline std::map<std::string, Array> read_npz(const std::filesystem::path& path) {
  const std::string file = content_of(path);
  const std::size_t end = file.rfind("PK\x05\x06");
  if (end == std::string::npos) throw std::runtime_error("no end record");
  std::map<std::string, Array> arrays;
  std::size_t at = value_at<std::uint32_t>(file, end + 16);
  for (int left = value_at<std::uint16_t>(file, end + 10); left > 0; --left) {
    if (value_at<std::uint32_t>(file, at) != 0x02014b50) throw std::runtime_error("no directory entry");
    if (value_at<std::uint16_t>(file, at + 10) != 0) throw std::runtime_error("an entry is compressed");
    const std::size_t size = value_at<std::uint32_t>(file, at + 24);
    const std::size_t name_size = value_at<std::uint16_t>(file, at + 28);
    const std::size_t local = value_at<std::uint32_t>(file, at + 42);
    const std::string name = file.substr(at + 46, name_size);
    if (!name.ends_with(".npy")) throw std::runtime_error(name);
    const std::size_t content =
        local + 30 + value_at<std::uint16_t>(file, local + 26) + value_at<std::uint16_t>(file, local + 28);
    if (content + size > file.size()) throw std::runtime_error("an entry is cut off");
    arrays[name.substr(0, name_size - 4)] = read_npy(std::string_view(file).substr(content, size));
    at += 46 + name_size + value_at<std::uint16_t>(file, at + 30) + value_at<std::uint16_t>(file, at + 32);
  }
  return arrays;
}

/// A COLMAP model in text.
struct ColmapModel {
  struct Camera {
    double width, height, fx, fy, cx, cy;
  };
  struct Observation {
    double x, y;
    std::int64_t point;
  };
  struct Image {
    std::vector<double> pose;  ///< qw qx qy qz tx ty tz
    std::int64_t camera;
    std::string name;
    std::vector<Observation> observations;
  };
  struct Point {
    double x, y, z, error;
    std::vector<int> colour;
    std::vector<std::pair<std::int64_t, std::size_t>> track;  ///< image, number of the observation
  };
  std::map<std::int64_t, Camera> cameras;
  std::map<std::int64_t, Image> images;
  std::map<std::int64_t, Point> points;
};

inline ColmapModel read_colmap(const std::filesystem::path& folder) {
  ColmapModel model;
  for (const std::string& line : lines_of(folder / "cameras.txt")) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::int64_t id = 0;
    std::string kind;
    ColmapModel::Camera c{};
    if (!(words >> id >> kind >> c.width >> c.height >> c.fx >> c.fy >> c.cx >> c.cy) || kind != "PINHOLE")
      throw std::runtime_error("camera: " + line);
    if (!model.cameras.emplace(id, c).second) throw std::runtime_error("camera twice: " + line);
  }
  ColmapModel::Image* open = nullptr;
  for (const std::string& line : lines_of(folder / "images.txt")) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    if (open == nullptr) {
      std::int64_t id = 0;
      ColmapModel::Image image;
      words >> id;
      for (double number = 0; image.pose.size() < 7 && words >> number;) image.pose.push_back(number);
      if (!(words >> image.camera >> image.name)) throw std::runtime_error("image: " + line);
      if (!model.cameras.contains(image.camera)) throw std::runtime_error("no such camera: " + line);
      open = &(model.images[id] = image);
    } else {
      for (ColmapModel::Observation o{}; words >> o.x >> o.y >> o.point;) open->observations.push_back(o);
      if (!words.eof()) throw std::runtime_error("observations: " + line);
      open = nullptr;
    }
  }
  if (open != nullptr) throw std::runtime_error("an image has one line");
  for (const std::string& line : lines_of(folder / "points3D.txt")) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::int64_t id = 0;
    ColmapModel::Point point{};
    point.colour.resize(3);
    words >> id >> point.x >> point.y >> point.z >> point.colour[0] >> point.colour[1] >> point.colour[2] >>
        point.error;
    std::int64_t image = 0;
    for (std::size_t number = 0; words >> image >> number;) point.track.emplace_back(image, number);
    if (!model.points.emplace(id, point).second) throw std::runtime_error("point twice: " + line);
  }
  return model;
}

/// The document and the binary chunk of a GLB file.
struct Glb {
  nlohmann::json document;
  std::string bytes;

  /// The values of an accessor, a row an element.
  template <typename T>
  [[nodiscard]] std::vector<std::vector<T>> rows(const nlohmann::json& accessor_index) const {
    const auto& accessor = document.at("accessors").at(accessor_index.get<std::size_t>());
    const auto& view = document.at("bufferViews").at(accessor.at("bufferView").get<std::size_t>());
    const std::string type = accessor.at("type");
    const std::size_t width = type == "SCALAR" ? 1 : static_cast<std::size_t>(type.at(3) - '0');
    const std::size_t stride = view.value("byteStride", width * sizeof(T));
    const std::size_t start = view.at("byteOffset").get<std::size_t>();
    const std::size_t offset = accessor.value("byteOffset", std::size_t{0});
    const std::size_t count = accessor.at("count");
    if (offset + (count - 1) * stride + width * sizeof(T) > view.at("byteLength")) throw std::runtime_error("view");
    std::vector<std::vector<T>> all(count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < width; ++j)
        all[i].push_back(value_at<T>(bytes, start + offset + i * stride + j * sizeof(T)));
    return all;
  }
  /// The only primitive of the mesh of this name; null if there is no such mesh.
  [[nodiscard]] nlohmann::json primitive(const std::string& mesh) const {
    for (const auto& each : document.value("meshes", nlohmann::json::array()))
      if (each.at("name") == mesh) return each.at("primitives").at(0);
    return nullptr;
  }
};

inline Glb read_glb(const std::filesystem::path& path) {
  const std::string file = content_of(path);
  if (!file.starts_with("glTF") || value_at<std::uint32_t>(file, 4) != 2) throw std::runtime_error("not GLB 2");
  const std::size_t length = value_at<std::uint32_t>(file, 8);
  if (length > file.size() || length % 4 != 0) throw std::runtime_error("length");
  Glb glb;
  for (std::size_t at = 12; at < length;) {
    const std::size_t bytes = value_at<std::uint32_t>(file, at);
    const std::string kind = file.substr(at + 4, 4);
    if (bytes % 4 != 0 || at + 8 + bytes > length) throw std::runtime_error("chunk");
    if (kind == "JSON") glb.document = nlohmann::json::parse(file.substr(at + 8, bytes));
    if (kind == std::string("BIN\0", 4)) glb.bytes = file.substr(at + 8, bytes);
    at += 8 + bytes;
  }
  if (glb.document.contains("buffers") && glb.document["buffers"][0]["byteLength"] != glb.bytes.size())
    throw std::runtime_error("buffer");
  return glb;
}

}  // namespace lingbot_map::test
