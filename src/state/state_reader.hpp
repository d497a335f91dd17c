#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.hpp"
#include "base/zip.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map {

/// Reads what a StateWriter wrote. Every check sum is verified, and every error is an Error(input) of one line that
/// names the file.
class StateReader {
 public:
  /// Copies host memory to a contiguous view of the device; the source may be reused when the call returns.
  using Upload = std::function<void(std::span<const std::byte> source, const Tensor& target)>;

  /// Opens the file and reads its numbers and texts. Throws Error(input) for what is missing, cut off or damaged.
  explicit StateReader(const std::filesystem::path& path, Upload upload = {});

  [[nodiscard]] const JsonFields& fields() const noexcept { return fields_; }
  [[nodiscard]] const std::string& name() const noexcept { return archive_.file().name(); }
  /// Of the whole file.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return archive_.file().size(); }
  /// Throws unless the file has an array of this name, type and size: to be called before memory is taken for it.
  void expect(std::string_view name, DType dtype, std::int64_t rows, std::int64_t width) const;
  /// Fills a contiguous matrix. Throws as expect() does, and when the check sum is wrong.
  void read(std::string_view name, const Tensor& rows);
  /// Throws Error(input) that calls the file damaged for this reason.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  [[nodiscard]] const ZipEntry& entry_for(std::string_view name, const Tensor& rows) const;

  ZipReader archive_;
  Upload upload_;
  JsonFields fields_;
  std::vector<std::byte> piece_;
};

}  // namespace lingbot_map
