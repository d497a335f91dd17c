#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lingbot_map {

/// A regular file opened for reading. Reads name their own position, so that threads may share one object, and leave no
/// mapped pages behind.
class File {
 public:
  /// Throws Error(input) when the path is missing, a directory, another kind of special file, or not readable.
  [[nodiscard]] static File open(const std::filesystem::path& path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  /// Bytes, as of opening.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// The path, as messages write it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Fills `out` from `offset` on. Throws Error(input) when the file ends before or cannot be read.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same into a new string. The caller has bounded `bytes`.
  [[nodiscard]] std::string read_text(std::uint64_t offset, std::size_t bytes) const;

 private:
  void read_part(std::uint64_t offset, std::span<std::byte> out) const;
  File(int descriptor, std::uint64_t size, std::string name);

  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string name_;
};

/// The whole of a small text file. Throws Error(input) as File does, and when it is larger than `limit` bytes.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 20);

/// A file that appears under its name only when it is complete: written beside it as NAME.part and renamed by commit().
/// Without commit (an exception, a full disk) the part is removed and what had the name before stays as it was.
class FileWriter {
 public:
  /// Throws Error(output) when the file cannot be created, or the name belongs to something that is no regular file.
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Appends. Throws Error(output) that says why (no space left, ...).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Replaces bytes that were written before. Throws Error(output).
  void overwrite(std::uint64_t offset, std::string_view bytes);
  /// Bytes written so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Gives the file its name. Nothing may be written afterwards. `durable`: waits until the disk itself has file and
  /// name, so that a power cut leaves either the old or the new one whole. Throws Error(output).
  void commit(bool durable = false);

 private:
  [[noreturn]] void fail_with_reason(int error) const;

  std::filesystem::path path_;
  std::filesystem::path part_;
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t position_ = 0;
};

/// Waits until the disk has all that was written to the file system that `folder` is on. Throws Error(output).
void sync_file_system(const std::filesystem::path& folder);

}  // namespace lingbot_map
