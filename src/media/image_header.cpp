#include "media/image_header.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace lingbot_map {

namespace {

/// Little searching for what may not be there: a file of nothing but tiny chunks must not cost minutes.
constexpr int kMaxChunks = 100'000;
constexpr int kOrientationTag = 274;

/// Bounds-checked reads: past the end every value is 0 and ok() turns false for good.
class Cursor {
 public:
  explicit Cursor(const ByteSource& file) : file_(file) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return file_.size; }
  void big_endian(bool value) noexcept { big_endian_ = value; }

  std::uint32_t u8(std::uint64_t at) { return bytes<1>(at)[0]; }
  std::uint32_t u16(std::uint64_t at) {
    const auto b = bytes<2>(at);
    return big_endian_ ? b[0] << 8 | b[1] : b[1] << 8 | b[0];
  }
  std::uint32_t u32(std::uint64_t at) {
    const auto b = bytes<4>(at);
    return big_endian_ ? b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3] : b[3] << 24 | b[2] << 16 | b[1] << 8 | b[0];
  }
  bool holds(std::uint64_t at, std::string_view text) {
    if (at > file_.size || text.size() > file_.size - at) return false;
    std::array<std::uint8_t, 16> found{};
    file_.read(at, std::span(found).first(text.size()));
    return std::memcmp(found.data(), text.data(), text.size()) == 0;
  }

 private:
  template <std::size_t N>
  std::array<std::uint32_t, N> bytes(std::uint64_t at) {
    std::array<std::uint32_t, N> values{};
    if (at > file_.size || N > file_.size - at) {
      ok_ = false;
      return values;
    }
    std::array<std::uint8_t, N> raw{};
    file_.read(at, raw);
    for (std::size_t i = 0; i < N; ++i) values[i] = raw[i];
    return values;
  }

  const ByteSource& file_;
  bool big_endian_ = true;
  bool ok_ = true;
};

/// A TIFF directory: what image files of that type, and EXIF blocks in the others, begin with.
struct TiffTags {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int orientation = 1;
  std::uint64_t orientation_offset = 0;
};

std::optional<TiffTags> read_tiff_tags(const ByteSource& file, std::uint64_t start) {
  Cursor at(file);
  if (at.holds(start, std::string_view("II*\0", 4))) {
    at.big_endian(false);
  } else if (!at.holds(start, std::string_view("MM\0*", 4))) {
    return std::nullopt;
  }
  constexpr std::uint32_t kShort = 3;
  constexpr std::uint32_t kLong = 4;
  TiffTags tags;
  const std::uint64_t directory = start + at.u32(start + 4);
  const std::uint32_t entries = at.u16(directory);
  for (std::uint32_t i = 0; i < entries && at.ok(); ++i) {
    const std::uint64_t entry = directory + 2 + 12ULL * i;
    const std::uint32_t tag = at.u16(entry);
    const std::uint32_t type = at.u16(entry + 2);
    if (type != kShort && type != kLong) continue;
    if (tag != 256 && tag != 257 && tag != kOrientationTag) continue;
    const std::uint32_t value = type == kShort ? at.u16(entry + 8) : at.u32(entry + 8);
    if (tag == 256) tags.width = value;
    if (tag == 257) tags.height = value;
    if (tag == kOrientationTag && value >= 1 && value <= 8) {
      tags.orientation = static_cast<int>(value);
      if (type == kShort) tags.orientation_offset = entry + 8;
    }
  }
  return tags;
}

/// Orientation of an EXIF block, which some writers begin with the six bytes that JPEG puts before it.
int exif_orientation(const ByteSource& file, std::uint64_t start) {
  Cursor at(file);
  if (at.holds(start, std::string_view("Exif\0\0", 6))) start += 6;
  const auto tags = read_tiff_tags(file, start);
  return tags ? tags->orientation : 1;
}

std::optional<ImageHeader> parse_png(const ByteSource& file) {
  Cursor at(file);
  ImageHeader header{.format = ImageFormat::png, .width = at.u32(16), .height = at.u32(20)};
  if (!at.ok() || !at.holds(12, "IHDR")) return std::nullopt;
  std::uint64_t chunk = 8;
  for (int i = 0; i < kMaxChunks && chunk + 12 <= at.size() && !at.holds(chunk + 4, "IEND"); ++i) {
    if (at.holds(chunk + 4, "eXIf")) {
      header.orientation = exif_orientation(file, chunk + 8);
      break;
    }
    chunk += 12ULL + at.u32(chunk);
  }
  return header;
}

std::optional<ImageHeader> parse_jpeg(const ByteSource& file) {
  Cursor at(file);
  ImageHeader header{.format = ImageFormat::jpeg};
  bool exif_seen = false;
  std::uint64_t position = 2;
  for (int i = 0; i < kMaxChunks && at.ok(); ++i) {
    if (at.u8(position) != 0xff) return std::nullopt;
    const std::uint32_t marker = at.u8(position + 1);
    const bool alone = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    if (marker == 0xff || alone) {  // a filling byte, or a marker without content
      position += marker == 0xff ? 1 : 2;
      continue;
    }
    constexpr std::uint32_t kStartOfScan = 0xda;
    constexpr std::uint32_t kEndOfImage = 0xd9;
    if (marker == kStartOfScan || marker == kEndOfImage) break;
    const std::uint32_t length = at.u16(position + 2);
    if (length < 2) return std::nullopt;
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame && header.width == 0) {
      header.height = at.u16(position + 5);
      header.width = at.u16(position + 7);
    }
    if (marker == 0xe1 && !exif_seen && at.holds(position + 4, std::string_view("Exif\0\0", 6))) {
      exif_seen = true;
      header.orientation = exif_orientation(file, position + 4);
    }
    position += 2ULL + length;
  }
  if (!at.ok() || header.width == 0) return std::nullopt;
  return header;
}

std::optional<ImageHeader> parse_webp(const ByteSource& file) {
  Cursor at(file);
  at.big_endian(false);
  constexpr std::uint64_t kSmallest = 32;  // below that OpenCV does not look at it
  ImageHeader header{.format = ImageFormat::webp, .least_bytes = std::max<std::uint64_t>(8ULL + at.u32(4), kSmallest)};
  if (at.holds(12, "VP8 ")) {
    header.width = at.u16(26) & 0x3fffU;
    header.height = at.u16(28) & 0x3fffU;
  } else if (at.holds(12, "VP8L")) {
    const std::uint32_t bits = at.u32(21);
    header.width = (bits & 0x3fffU) + 1;
    header.height = (bits >> 14 & 0x3fffU) + 1;
  } else if (at.holds(12, "VP8X")) {
    header.width = (at.u16(24) | at.u8(26) << 16) + 1;
    header.height = (at.u16(27) | at.u8(29) << 16) + 1;
    std::uint64_t chunk = 12;
    for (int i = 0; i < kMaxChunks && chunk + 8 <= at.size(); ++i) {
      if (at.holds(chunk, "EXIF")) {
        header.orientation = exif_orientation(file, chunk + 8);
        break;
      }
      const std::uint64_t length = at.u32(chunk + 4);
      chunk += 8 + length + length % 2;
    }
  } else {
    return std::nullopt;
  }
  if (!at.ok()) return std::nullopt;
  return header;
}

std::optional<ImageHeader> parse_bmp(const ByteSource& file) {
  Cursor at(file);
  at.big_endian(false);
  constexpr std::uint32_t kUncompressed = 0;
  constexpr std::uint32_t kBitFields = 3;
  ImageHeader header{.format = ImageFormat::bmp};
  if (at.u32(14) == 12) {
    header.width = at.u16(18);
    header.height = at.u16(20);
  } else {
    header.width = static_cast<std::int32_t>(at.u32(18));
    header.height = std::llabs(static_cast<std::int32_t>(at.u32(22)));  // negative: rows from the top
    const std::uint32_t compression = at.u32(30);
    header.alpha_unused = compression == kUncompressed;
    if (compression == kUncompressed || compression == kBitFields) {
      const std::uint64_t row_bytes = (static_cast<std::uint64_t>(header.width) * at.u16(28) + 31) / 32 * 4;
      header.least_bytes = at.u32(10) + row_bytes * static_cast<std::uint64_t>(header.height);
    }
  }
  if (!at.ok() || header.width < 0) return std::nullopt;
  return header;
}

std::optional<ImageHeader> parse_tiff(const ByteSource& file) {
  const auto tags = read_tiff_tags(file, 0);
  if (!tags || tags->width == 0) return std::nullopt;
  return ImageHeader{.format = ImageFormat::tiff,
                     .width = tags->width,
                     .height = tags->height,
                     .orientation = tags->orientation,
                     .orientation_offset = tags->orientation_offset};
}

std::optional<ImageHeader> parse_pnm(const ByteSource& file) {
  Cursor at(file);
  const auto kind = static_cast<char>(at.u8(1));
  const bool bitmap = kind == '1' || kind == '4';
  std::array<std::int64_t, 3> numbers = {0, 0, 1};  // width, height, largest sample, which bitmaps do not have
  std::uint64_t position = 2;
  for (std::size_t i = 0; i < (bitmap ? 2U : 3U); ++i) {
    constexpr std::uint64_t kLongestHeader = 65'536;
    auto next = [&] { return at.ok() && position < kLongestHeader ? static_cast<int>(at.u8(position)) : 0; };
    while (std::isspace(next()) != 0 || next() == '#') {
      const bool comment = next() == '#';
      do ++position;
      while (comment && next() != '\n' && next() != 0);
    }
    if (std::isdigit(next()) == 0) return std::nullopt;
    numbers[i] = 0;
    for (; std::isdigit(next()) != 0; ++position) {
      numbers[i] = numbers[i] * 10 + (next() - '0');
      if (numbers[i] > (std::int64_t{1} << 32)) return std::nullopt;
    }
  }
  if (!at.ok() || numbers[2] < 1 || numbers[2] > 65'535) return std::nullopt;
  ImageHeader header{.format = ImageFormat::pnm,
                     .width = numbers[0],
                     .height = numbers[1],
                     .max_value = static_cast<int>(numbers[2]),
                     .plain_text = kind <= '3'};
  if (!header.plain_text) {
    const std::int64_t row_samples = kind == '6' ? 3 * numbers[0] : numbers[0];
    const std::int64_t row_bytes = kind == '4' ? (numbers[0] + 7) / 8 : row_samples * (numbers[2] > 255 ? 2 : 1);
    const bool plausible = numbers[1] < 1 || row_bytes < std::numeric_limits<std::int64_t>::max() / 4 / numbers[1];
    if (plausible) header.least_bytes = position + 1 + static_cast<std::uint64_t>(row_bytes * numbers[1]);
  }
  return header;
}

std::optional<ImageHeader> parse_jpeg2000(const ByteSource& file) {
  Cursor at(file);
  std::uint64_t box = 0;
  for (int i = 0; i < kMaxChunks && box + 8 <= at.size(); ++i) {
    if (at.holds(box + 4, "jp2h") && at.holds(box + 12, "ihdr")) {
      ImageHeader header{.format = ImageFormat::jpeg2000, .width = at.u32(box + 20), .height = at.u32(box + 16)};
      if (!at.ok()) return std::nullopt;
      return header;
    }
    const std::uint64_t length = at.u32(box);
    if (length < 8) return std::nullopt;  // 64-bit boxes and "up to the end" come only with the pixels
    box += length;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(ImageFormat format) noexcept {
  switch (format) {
    case ImageFormat::png: return "PNG";
    case ImageFormat::jpeg: return "JPEG";
    case ImageFormat::webp: return "WebP";
    case ImageFormat::bmp: return "BMP";
    case ImageFormat::tiff: return "TIFF";
    case ImageFormat::pnm: return "PNM";
    case ImageFormat::jpeg2000: return "JPEG 2000";
  }
  return "?";
}

std::optional<ImageHeader> parse_image_header(const ByteSource& file) {
  Cursor at(file);
  if (at.holds(0, "\x89PNG\r\n\x1a\n")) return parse_png(file);
  if (at.holds(0, "\xff\xd8\xff")) return parse_jpeg(file);
  if (at.holds(0, "RIFF") && at.holds(8, "WEBP")) return parse_webp(file);
  if (at.holds(0, "BM")) return parse_bmp(file);
  if (at.holds(0, "II*") || at.holds(0, "MM")) return parse_tiff(file);
  if (at.holds(4, "jP  \r\n\x87\n")) return parse_jpeg2000(file);
  if (at.holds(0, "P") && at.size() > 2 && at.u8(1) >= '1' && at.u8(1) <= '6') return parse_pnm(file);
  return std::nullopt;
}

}  // namespace lingbot_map
