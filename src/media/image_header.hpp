#pragma once

#include <cstddef>
#include <cstdint>
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

/// What the first bytes of an image file say, before anything is decoded.
struct ImageHeader {
  ImageFormat format = ImageFormat::png;
  std::int64_t width = 0;   ///< as stored, before orientation
  std::int64_t height = 0;  ///< as stored
  int orientation = 1;      ///< EXIF/TIFF tag 274: 1 to 8; 1 where there is none
  /// TIFF only: where in the file the value of the orientation tag is (two bytes); 0 where there is none.
  std::size_t orientation_offset = 0;
};

/// Recognises the format by content and reads size and orientation. Nothing where the bytes are none of the formats, or
/// end too early. Sizes are as the file claims them: not yet checked against any limit.
[[nodiscard]] std::optional<ImageHeader> parse_image_header(std::span<const std::uint8_t> file) noexcept;

}  // namespace lingbot_map
