#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace lingbot_map {

/// CRC-32 of zip and PNG. Continues from `crc`, which is 0 at the start.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

/// A file inside a zip archive.
struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;    ///< bytes of its content
  std::uint64_t offset = 0;  ///< where its content begins in the archive
  std::uint32_t crc = 0;     ///< as recorded; not every writer fills it in
  std::uint16_t method = 0;  ///< 0: stored as it is; anything else is a compression
  bool encrypted = false;

  [[nodiscard]] bool stored() const noexcept { return method == 0 && !encrypted; }
};

/// Reads the directory of a zip archive (APPNOTE 6.3, zip64 included) and the content of entries that are stored
/// uncompressed, in place. Every content lies inside the file: opening checks that.
class ZipReader {
 public:
  /// Throws Error(input) when there is no end record (a truncated file), or the directory contradicts the file.
  explicit ZipReader(File file);

  /// Ordered by name; names are unique.
  [[nodiscard]] const std::vector<ZipEntry>& entries() const noexcept { return entries_; }
  [[nodiscard]] const ZipEntry* find(std::string_view name) const noexcept;
  [[nodiscard]] const File& file() const noexcept { return file_; }
  /// Fills `out` from the entry's content, `offset` bytes in. Throws Error(input) when the entry is not stored() or
  /// ends before.
  void read(const ZipEntry& entry, std::uint64_t offset, std::span<std::byte> out) const;
  /// The whole content. Throws Error(input) when it is larger than `limit`.
  [[nodiscard]] std::string read_text(const ZipEntry& entry, std::size_t limit) const;

 private:
  File file_;
  std::vector<ZipEntry> entries_;
};

/// Writes a zip archive of stored entries, dated 1980-01-01 so that equal content gives equal bytes. Entries or
/// archives past 4 GiB get zip64 records. Appears under its name only after finish().
class ZipWriter {
 public:
  /// Throws Error(output) as FileWriter does.
  explicit ZipWriter(const std::filesystem::path& path);

  /// Appends an entry whose content is the pieces one after another. Names must differ.
  void add(std::string_view name, std::initializer_list<std::span<const std::byte>> pieces);
  void add(std::string_view name, std::string_view content);
  /// The same for a content that is never in memory as a whole: begin(), then append() until there are `bytes`.
  void begin(std::string_view name, std::uint64_t bytes);
  void append(std::span<const std::byte> piece);
  /// Writes the directory and gives the file its name, as FileWriter::commit() does.
  void finish(bool durable = false);

 private:
  ZipEntry& add_entry(std::string_view name);
  void write_local_header();

  FileWriter file_;
  std::vector<ZipEntry> entries_;  // offset: of the local header
  std::uint64_t awaited_ = 0;      // bytes of the last entry that are still to come
};

}  // namespace lingbot_map
