#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/zip.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map {

/// What a session must remember, written to one file: named arrays, and named numbers and texts. The file is a zip
/// archive as numpy.load reads it: an entry NAME.npy for each array, and last `state.json` with all the rest. Every
/// entry has its CRC-32. It appears under its name when it is whole and on the disk; until then an older file of that
/// name stays. Arrays go from where they lie to the file piece by piece.
class StateWriter {
 public:
  /// Copies a contiguous view of the device to host memory, after everything that was queued before.
  using Download = std::function<void(const Tensor& source, std::span<std::byte> target)>;

  /// Throws Error(output) as FileWriter does. Views in host memory need no `download`.
  explicit StateWriter(const std::filesystem::path& path, Download download = {});

  void put(std::string_view key, std::int64_t value) { add_field(key, value); }
  void put(std::string_view key, double value) { add_field(key, value); }
  void put(std::string_view key, bool value) { add_field(key, value); }
  void put(std::string_view key, const std::string& value) { add_field(key, value); }
  /// A contiguous matrix [n, width] of f32, f16, bf16 or u8. Throws Error(output).
  void add(std::string_view name, const Tensor& rows);
  /// Completes the file. Throws Error(output).
  void finish();

 private:
  void add_field(std::string_view key, nlohmann::ordered_json value);

  ZipWriter archive_;
  Download download_;
  nlohmann::ordered_json fields_ = nlohmann::ordered_json::object();
  std::vector<std::byte> piece_;
};

}  // namespace lingbot_map
