#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map::test {

/// A safetensors file read with nothing of the project's own: what tests hold results against.
class Golden {
 public:
  explicit Golden(const std::string& path) : file_(path, std::ios::binary) {
    std::uint64_t length = 0;
    file_.read(reinterpret_cast<char*>(&length), sizeof(length));
    std::string header(length, '\0');
    file_.read(header.data(), static_cast<std::streamsize>(length));
    if (!file_) throw std::runtime_error("cannot read " + path);
    header_ = nlohmann::json::parse(header);
    start_ = sizeof(length) + length;
  }

  [[nodiscard]] bool has(const std::string& name) const { return header_.contains(name); }
  /// The JSON object in the file's own metadata entry "meta".
  [[nodiscard]] nlohmann::json metadata() const {
    return nlohmann::json::parse(header_.at("__metadata__").at("meta").get<std::string>());
  }
  [[nodiscard]] std::vector<std::int64_t> shape(const std::string& name) const { return header_.at(name).at("shape"); }
  [[nodiscard]] std::vector<float> floats(const std::string& name) { return read<float>(name, "F32"); }
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& name) { return read<std::uint8_t>(name, "U8"); }

  /// uint8 [frames, 3, height, width] as images.
  [[nodiscard]] std::vector<Image> images(const std::string& name) {
    const auto extent = shape(name);
    const auto planar = bytes(name);
    const auto height = static_cast<int>(extent[2]);
    const auto width = static_cast<int>(extent[3]);
    const auto plane = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    std::vector<Image> images;
    for (std::size_t frame = 0; frame < static_cast<std::size_t>(extent[0]); ++frame) {
      Image image(width, height);
      for (std::size_t i = 0; i < plane; ++i) {
        for (std::size_t c = 0; c < 3; ++c) image.pixels[i * 3 + c] = planar[(frame * 3 + c) * plane + i];
      }
      images.push_back(std::move(image));
    }
    return images;
  }

 private:
  template <typename T>
  std::vector<T> read(const std::string& name, const std::string& dtype) {
    const auto& entry = header_.at(name);
    if (entry.at("dtype") != dtype) throw std::runtime_error(name + " is not " + dtype);
    const std::uint64_t begin = entry.at("data_offsets")[0];
    const std::uint64_t end = entry.at("data_offsets")[1];
    std::vector<T> values((end - begin) / sizeof(T));
    file_.seekg(static_cast<std::streamoff>(start_ + begin));
    file_.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(end - begin));
    if (!file_) throw std::runtime_error("cannot read " + name);
    return values;
  }

  std::ifstream file_;
  nlohmann::json header_;
  std::uint64_t start_ = 0;
};

/// ||a - b|| / ||b||; infinite when the sizes differ or a value is not finite.
inline double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i])) return INFINITY;
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace lingbot_map::test
