#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace lingbot_map {

enum class ImageFormat : std::uint8_t { png, jpeg, webp, bmp, tiff, pnm, jpeg2000 };
/// "PNG", "JPEG", ...
[[nodiscard]] std::string_view name_of(ImageFormat format) noexcept;

/// Width and height in pixels.
struct ImageSize {
  int width = 0;
  int height = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// What an image file says of itself before anything is decoded.
struct ImageHeader {
  ImageFormat format = ImageFormat::png;
  std::int64_t width = 0;   ///< as stored, before orientation
  std::int64_t height = 0;  ///< as stored
  int orientation = 1;      ///< EXIF/TIFF tag 274: 1 to 8; 1 where there is none
  /// TIFF only: where in the file the value of the orientation tag is (two bytes); 0 where there is none.
  std::uint64_t orientation_offset = 0;
  /// Bytes that the file has if it is whole, as far as the header tells; 0 where it does not.
  std::uint64_t least_bytes = 0;
  int max_value = 0;          ///< PNM only: the sample that means white, 1 to 65535
  bool plain_text = false;    ///< PNM only: samples are written as text
  bool alpha_unused = false;  ///< BMP only: the fourth byte of a pixel is filling
};

/// Random access to a file's bytes. `read` fills `out` from `offset` on; the whole range lies inside the file.
struct ByteSource {
  std::uint64_t size = 0;
  std::function<void(std::uint64_t offset, std::span<std::uint8_t> out)> read;
};

/// Recognises the format by content and reads size and orientation, jumping over pixels. Nothing where the bytes are
/// none of the formats, or end too early. Sizes are as the file claims them: not yet checked against any limit. Throws
/// only what `read` throws.
[[nodiscard]] std::optional<ImageHeader> parse_image_header(const ByteSource& file);

}  // namespace lingbot_map
