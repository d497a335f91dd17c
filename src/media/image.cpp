#include "media/image.hpp"

#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"
#include "media/decode.hpp"
#include "media/orientation.hpp"

namespace lingbot_map {

namespace {

constexpr std::int64_t kMaxImageSide = std::int64_t{1} << 20;
constexpr std::uint64_t kMaxFileBytes = (std::uint64_t{1} << 31) - 1;

/// Recognised, and within the limits.
ImageHeader read_header(const File& file) {
  if (file.size() == 0) fail(ErrorCode::input, file.name(), ": the file is empty, expected an image");
  if (file.size() > kMaxFileBytes) {
    fail(ErrorCode::input, file.name(), ": ", file.size(), " bytes, expected an image file below 2 GiB");
  }
  const ByteSource bytes{.size = file.size(), .read = [&file](std::uint64_t offset, std::span<std::uint8_t> out) {
                           file.read(offset, std::as_writable_bytes(out));
                         }};
  const auto header = parse_image_header(bytes);
  if (!header) {
    fail(ErrorCode::input, file.name(),
         ": not an image, or cut off in its header; expected JPEG, PNG, WebP, BMP, TIFF, PNM or JPEG 2000");
  }
  const auto [width, height] = std::pair(header->width, header->height);
  if (width < 1 || height < 1) {
    fail(ErrorCode::input, file.name(), ": an image of ", width, " x ", height, " pixels, expected at least one");
  }
  if (width > kMaxImageSide || height > kMaxImageSide || width * height > kMaxImagePixels) {
    fail(ErrorCode::input, file.name(), ": the header claims ", width, " x ", height,
         " pixels, more than the limit of ", kMaxImagePixels, "; if that is true, make the image smaller first");
  }
  if (file.size() < header->least_bytes) {
    fail(ErrorCode::input, file.name(), ": the ", name_of(header->format), " is cut off: ", file.size(),
         " bytes, expected at least ", header->least_bytes);
  }
  return *header;
}

int orientation_of(const ImageHeader& header, Turn turn) {
  return turn == Turn::raw_clockwise_90 ? kOrientationClockwise90 : header.orientation;
}

Image decode_stored(std::span<std::uint8_t> bytes, const ImageHeader& header, const std::string& name) {
  switch (header.format) {
    case ImageFormat::jpeg: return decode_jpeg(bytes, name);
    case ImageFormat::png: return decode_png(bytes, name);
    default: return decode_opencv(bytes, header, name);
  }
}

std::vector<std::uint8_t> read_bytes(const File& file) {
  std::vector<std::uint8_t> bytes(file.size());
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

Image decode_image(const std::filesystem::path& path, Turn turn) {
  const File file = File::open(path);
  const ImageHeader header = read_header(file);
  std::vector<std::uint8_t> bytes = read_bytes(file);
  Image image = decode_stored(bytes, header, file.name());
  if (image.width != header.width || image.height != header.height) {
    fail(ErrorCode::input, file.name(), ": decoded to ", image.width, " x ", image.height,
         " pixels, but its header says ", header.width, " x ", header.height);
  }
  return orient(std::move(image), orientation_of(header, turn));
}

Gray16 decode_gray16(const std::filesystem::path& path) {
  const File file = File::open(path);
  const ImageHeader header = read_header(file);
  if (header.format != ImageFormat::png)
    fail(ErrorCode::input, file.name(), ": found ", name_of(header.format), ", expected a 16-bit gray PNG");
  return decode_png_gray16(read_bytes(file), file.name());
}

ImageSize read_image_size(const std::filesystem::path& path, Turn turn) {
  const ImageHeader header = read_header(File::open(path));
  return oriented_size({static_cast<int>(header.width), static_cast<int>(header.height)}, orientation_of(header, turn));
}

bool is_stored_upright(const std::filesystem::path& path, Turn turn) {
  return orientation_of(read_header(File::open(path)), turn) == 1;
}

}  // namespace lingbot_map
