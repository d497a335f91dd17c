#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lingbot_map {

/// A file that grows record by record and can be read at any time: every record goes to the system at once, and one
/// that does not fit (a full disk) leaves the file as it was before it. So a run that is killed or fails leaves all
/// whole records. For a file that must appear complete or not at all there is FileWriter.
class OutputFile {
 public:
  /// Creates the file, or empties an older one. Throws Error(output) when that is not possible.
  explicit OutputFile(const std::filesystem::path& path);
  /// Opens a file that an earlier run left, to go on after its first `size` bytes; what comes behind them goes. Throws
  /// Error(output) when the file is not there or has fewer.
  OutputFile(const std::filesystem::path& path, std::uint64_t size);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;

  /// Appends one record. Throws Error(output) that says why it cannot be written.
  void append(std::span<const std::byte> record);
  void append(std::string_view record) { append(std::as_bytes(std::span(record))); }
  /// Replaces bytes that were written before. Throws Error(output).
  void overwrite(std::uint64_t offset, std::string_view bytes);
  /// Ends writing. Throws Error(output) for what the system only reports now (network file systems); the destructor
  /// does the same silently. Nothing may be written afterwards; a second call does nothing.
  void close();

  /// Bytes in the file.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// The path, as messages write it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  OutputFile(std::string name, int descriptor, std::uint64_t size);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace lingbot_map
