#include "base/zip.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/little_endian.hpp"
#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kLocalCrc = 14;  // where a local header has it
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint32_t kIn64 = 0xffffffff;  // a 32-bit field whose value is in a zip64 record
constexpr std::size_t kLargestDirectory = std::size_t{64} << 20;

constexpr auto kCrcTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xffU];
  }
  return tables;
}();

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
};

[[noreturn]] void fail_damaged(const File& file, const std::string& what) {
  fail(ErrorCode::input, file.name(), ": damaged zip archive: ", what, "; get the file again");
}

// Where the end record begins: the last place whose comment ends with the file.
std::optional<std::size_t> find_end(std::string_view tail) {
  if (tail.size() < kEndBytes) return std::nullopt;
  for (std::size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    if (load_le<std::uint32_t>(tail, at) != kEnd) continue;
    if (at + kEndBytes + load_le<std::uint16_t>(tail, at + 20) == tail.size()) return at;
  }
  return std::nullopt;
}

Directory find_directory(const File& file) {
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(file.size(), kLocatorBytes + kEndBytes + 0xffff);
  const std::uint64_t tail_offset = file.size() - tail_bytes;
  const std::string tail = file.read_text(tail_offset, static_cast<std::size_t>(tail_bytes));
  const std::optional<std::size_t> end = find_end(tail);
  if (!end) {
    fail(ErrorCode::input, file.name(), ": zip archive without an end record after ", file.size(),
         " bytes: the file is incomplete, get it again");
  }
  Directory directory{load_le<std::uint32_t>(tail, *end + 16), load_le<std::uint32_t>(tail, *end + 12),
                      load_le<std::uint16_t>(tail, *end + 10)};
  std::uint64_t directory_end = tail_offset + *end;
  std::uint64_t disk = load_le<std::uint16_t>(tail, *end + 4);
  if (*end >= kLocatorBytes && load_le<std::uint32_t>(tail, *end - kLocatorBytes) == kEnd64Locator) {
    const auto at = load_le<std::uint64_t>(tail, *end - kLocatorBytes + 8);
    if (at > file.size() || file.size() - at < kEnd64Bytes) fail_damaged(file, "its zip64 record is outside the file");
    const std::string record = file.read_text(at, kEnd64Bytes);
    if (load_le<std::uint32_t>(record) != kEnd64) fail_damaged(file, "its zip64 record is not where it should be");
    directory = {load_le<std::uint64_t>(record, 48), load_le<std::uint64_t>(record, 40),
                 load_le<std::uint64_t>(record, 32)};
    directory_end = at;
    disk = load_le<std::uint32_t>(record, 16);
  }
  if (disk != 0 && disk != 0xffff) fail_damaged(file, "it is one part of several");
  if (directory.offset > directory_end || directory.size > directory_end - directory.offset) {
    fail_damaged(file, "its directory is outside the file");
  }
  if (directory.size > kLargestDirectory || directory.entries > directory.size / kEntryBytes) {
    fail_damaged(file, message("a directory of ", directory.entries, " entries in ", directory.size, " bytes"));
  }
  return directory;
}

// Replaces the fields that a directory entry could not hold by those of its zip64 record.
bool apply_zip64(std::string_view extra, std::uint64_t& size, std::uint64_t& stored_size, std::uint64_t& offset) {
  while (extra.size() >= 4) {
    const auto id = load_le<std::uint16_t>(extra);
    const auto length = load_le<std::uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return false;
    if (id == kZip64Extra) {
      std::string_view fields = extra.substr(0, length);
      for (std::uint64_t* field : {&size, &stored_size, &offset}) {
        if (*field != kIn64) continue;
        if (fields.size() < 8) return false;
        *field = load_le<std::uint64_t>(fields);
        fields.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(length);
  }
  return size != kIn64 && stored_size != kIn64 && offset != kIn64;
}

std::uint64_t content_offset(const File& file, const std::string& name, std::uint64_t header, std::uint64_t limit) {
  if (header > limit || limit - header < kLocalBytes) fail_damaged(file, name + " lies outside the file");
  const std::string local = file.read_text(header, kLocalBytes);
  if (load_le<std::uint32_t>(local) != kLocalHeader) fail_damaged(file, name + " is not where the directory says");
  return header + kLocalBytes + load_le<std::uint16_t>(local, 26) + load_le<std::uint16_t>(local, 28);
}

std::string zip64_extra(std::initializer_list<std::uint64_t> values) {
  std::string fields;
  for (const std::uint64_t value : values) {
    if (value >= kIn64) append_le(fields, value);
  }
  if (fields.empty()) return fields;
  std::string extra;
  append_le(extra, kZip64Extra);
  append_le(extra, static_cast<std::uint16_t>(fields.size()));
  return extra + fields;
}

std::uint32_t field32(std::uint64_t value) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kIn64)); }

// What local header and directory entry have in common, up to and with the lengths of name and extra field.
void append_common(std::string& out, const ZipEntry& entry, std::size_t extra_bytes) {
  constexpr std::uint16_t utf8_name = 0x800;
  constexpr std::uint16_t first_date = (1 << 5) | 1;  // 1980-01-01
  append_le(out, static_cast<std::uint16_t>(extra_bytes > 0 ? 45 : 20));
  append_le(out, utf8_name);
  append_le(out, entry.method);
  append_le(out, std::uint16_t{0});
  append_le(out, first_date);
  append_le(out, entry.crc);
  append_le(out, field32(entry.size));
  append_le(out, field32(entry.size));
  append_le(out, static_cast<std::uint16_t>(entry.name.size()));
  append_le(out, static_cast<std::uint16_t>(extra_bytes));
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  const auto& t = kCrcTables;
  crc = ~crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes[i]); };
    const std::uint32_t low = crc ^ (at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24);
    crc = t[7][low & 0xffU] ^ t[6][(low >> 8) & 0xffU] ^ t[5][(low >> 16) & 0xffU] ^ t[4][low >> 24] ^ t[3][at(4)] ^
          t[2][at(5)] ^ t[1][at(6)] ^ t[0][at(7)];
  }
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ t[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xffU];
  return ~crc;
}

ZipReader::ZipReader(File file) : file_(std::move(file)) {
  const Directory directory = find_directory(file_);
  const std::string bytes = file_.read_text(directory.offset, static_cast<std::size_t>(directory.size));
  std::string_view rest = bytes;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kEntryBytes || load_le<std::uint32_t>(rest) != kDirectoryEntry) {
      fail_damaged(file_, message("entry ", i, " of its directory is not one"));
    }
    const std::size_t name_bytes = load_le<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = load_le<std::uint16_t>(rest, 30);
    const std::size_t comment_bytes = load_le<std::uint16_t>(rest, 32);
    if (rest.size() < kEntryBytes + name_bytes + extra_bytes + comment_bytes) {
      fail_damaged(file_, message("entry ", i, " of its directory is cut off"));
    }
    ZipEntry entry;
    entry.name = rest.substr(kEntryBytes, name_bytes);
    entry.encrypted = (load_le<std::uint16_t>(rest, 8) & 1U) != 0;
    entry.method = load_le<std::uint16_t>(rest, 10);
    entry.crc = load_le<std::uint32_t>(rest, 16);
    entry.size = load_le<std::uint32_t>(rest, 24);
    std::uint64_t stored_size = load_le<std::uint32_t>(rest, 20);
    std::uint64_t header = load_le<std::uint32_t>(rest, 42);
    const std::string shown = printable(entry.name);
    if (!apply_zip64(rest.substr(kEntryBytes + name_bytes, extra_bytes), entry.size, stored_size, header)) {
      fail_damaged(file_, message("the zip64 fields of ", shown, " are cut off"));
    }
    entry.offset = content_offset(file_, shown, header, directory.offset);
    if (entry.offset > directory.offset || stored_size > directory.offset - entry.offset) {
      fail_damaged(file_, shown + " reaches past the end of the data");
    }
    if (entry.stored() && entry.size != stored_size) fail_damaged(file_, shown + " has two different sizes");
    entries_.push_back(std::move(entry));
    rest.remove_prefix(kEntryBytes + name_bytes + extra_bytes + comment_bytes);
  }
  std::ranges::sort(entries_, {}, &ZipEntry::name);
  const auto twin = std::ranges::adjacent_find(entries_, {}, &ZipEntry::name);
  if (twin != entries_.end()) fail_damaged(file_, "it holds " + printable(twin->name) + " twice");
}

const ZipEntry* ZipReader::find(std::string_view name) const noexcept {
  const auto at =
      std::ranges::lower_bound(entries_, name, {}, [](const ZipEntry& e) -> std::string_view { return e.name; });
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

void ZipReader::read(const ZipEntry& entry, std::uint64_t offset, std::span<std::byte> out) const {
  if (!entry.stored()) {
    fail(ErrorCode::input, file_.name(), ": ", printable(entry.name), " is ",
         entry.encrypted ? "encrypted" : "compressed",
         ", expected a stored entry; unpack the archive and store it anew");
  }
  if (offset > entry.size || out.size() > entry.size - offset) {
    fail(ErrorCode::input, file_.name(), ": ", printable(entry.name), " has ", entry.size, " bytes, expected ",
         out.size(), " from ", offset, " on");
  }
  file_.read(entry.offset + offset, out);
}

std::string ZipReader::read_text(const ZipEntry& entry, std::size_t limit) const {
  if (entry.size > limit) {
    fail(ErrorCode::input, file_.name(), ": ", printable(entry.name), " has ", entry.size, " bytes, expected at most ",
         limit);
  }
  std::string text(static_cast<std::size_t>(entry.size), '\0');
  read(entry, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

ZipWriter::ZipWriter(const std::filesystem::path& path) : file_(path) {}

void ZipWriter::add(std::string_view name, std::initializer_list<std::span<const std::byte>> pieces) {
  ZipEntry& entry = add_entry(name);
  for (const auto piece : pieces) {
    entry.size += piece.size();
    entry.crc = crc32(piece, entry.crc);
  }
  write_local_header();
  for (const auto piece : pieces) file_.write(piece);
}

void ZipWriter::add(std::string_view name, std::string_view content) { add(name, {std::as_bytes(std::span(content))}); }

void ZipWriter::begin(std::string_view name, std::uint64_t bytes) {
  add_entry(name).size = bytes;
  write_local_header();
  awaited_ = bytes;
}

void ZipWriter::append(std::span<const std::byte> piece) {
  check(piece.size() <= awaited_, "zip entry: ", piece.size(), " bytes where ", awaited_, " were announced");
  ZipEntry& entry = entries_.back();
  entry.crc = crc32(piece, entry.crc);
  file_.write(piece);
  awaited_ -= piece.size();
  if (awaited_ > 0) return;
  std::string crc;
  append_le(crc, entry.crc);
  file_.overwrite(entry.offset + kLocalCrc, crc);
}

ZipEntry& ZipWriter::add_entry(std::string_view name) {
  check(!name.empty() && name.size() <= 0xffff, "zip entry name of ", name.size(), " bytes");
  check(awaited_ == 0, "zip entry ", name, ": the one before lacks ", awaited_, " bytes");
  ZipEntry entry;
  entry.name = name;
  entry.offset = file_.position();
  entries_.push_back(std::move(entry));
  return entries_.back();
}

void ZipWriter::write_local_header() {
  const ZipEntry& entry = entries_.back();
  // A local header that needs zip64 gives both sizes.
  const std::string extra = zip64_extra({entry.size, entry.size});
  std::string header;
  append_le(header, kLocalHeader);
  append_common(header, entry, extra.size());
  file_.write(header.append(entry.name).append(extra));
}

void ZipWriter::finish(bool durable) {
  check(awaited_ == 0, "zip archive: its last entry lacks ", awaited_, " bytes");
  const std::uint64_t offset = file_.position();
  for (const ZipEntry& entry : entries_) {
    const std::string extra = zip64_extra({entry.size, entry.size, entry.offset});
    std::string record;
    append_le(record, kDirectoryEntry);
    append_le(record, std::uint16_t{45});
    append_common(record, entry, extra.size());
    record.append(10, '\0');  // no comment, first disk, no attributes
    append_le(record, field32(entry.offset));
    file_.write(record.append(entry.name).append(extra));
  }
  const std::uint64_t end = file_.position();
  const std::uint64_t count = entries_.size();
  std::string tail;
  if (count >= 0xffff || end >= kIn64) {
    append_le(tail, kEnd64);
    append_le(tail, std::uint64_t{kEnd64Bytes - 12});
    append_le(tail, std::uint16_t{45});
    append_le(tail, std::uint16_t{45});
    append_le(tail, std::uint64_t{0});  // first disk, twice
    for (const std::uint64_t value : {count, count, end - offset, offset}) append_le(tail, value);
    append_le(tail, kEnd64Locator);
    append_le(tail, std::uint32_t{0});
    append_le(tail, end);
    append_le(tail, std::uint32_t{1});
  }
  const auto count16 = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff));
  append_le(tail, kEnd);
  append_le(tail, std::uint32_t{0});
  append_le(tail, count16);
  append_le(tail, count16);
  append_le(tail, field32(end - offset));
  append_le(tail, field32(offset));
  append_le(tail, std::uint16_t{0});
  file_.write(tail);
  file_.commit(durable);
}

}  // namespace lingbot_map
