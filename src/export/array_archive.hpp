#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/zip.hpp"

namespace lingbot_map {

/// An array with its values as float32.
struct FloatArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  ///< row-major
  bool bytes = false;         ///< whether they were stored as uint8
};

/// Arrays of an uncompressed .npz archive, read by name.
class ArrayArchive {
 public:
  /// Throws Error(input) that names the file.
  explicit ArrayArchive(const std::filesystem::path& path);
  /// The array, or nothing if there is none of that name. float32, float64, uint8 and bool are read. Throws
  /// Error(input) that names file and array for other types, column-major order, more than 2^30 values, or a wrong
  /// size.
  [[nodiscard]] std::optional<FloatArray> find(std::string_view name) const;
  /// The array; a missing one is an Error(input) too.
  [[nodiscard]] FloatArray get(std::string_view name) const;
  [[nodiscard]] const std::string& name() const noexcept { return archive_.file().name(); }

 private:
  ZipReader archive_;
};

/// "(3, 294, 518)"
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace lingbot_map
