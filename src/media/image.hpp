#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "lingbot_map/types.hpp"
#include "media/image_header.hpp"

namespace lingbot_map {

/// How the pixels of a file are turned before use.
enum class Turn : std::uint8_t {
  upright,           ///< as the EXIF orientation asks
  raw_clockwise_90,  ///< as stored, without EXIF, then a quarter turn clockwise
};

/// The largest image that is decoded: 2^28 pixels.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 28;

/// Decodes a file to 8-bit RGB by the rules of the public loader: EXIF orientation applied; RGBA composited over opaque
/// white in integers; transparency of palette and gray images dropped; gray repeated; CMYK converted. 16-bit samples
/// become round(value / 257). Throws Error(input) that names the file if it is missing, empty, of no known format,
/// truncated, corrupt or larger than kMaxImagePixels.
[[nodiscard]] Image decode_image(const std::filesystem::path& path, Turn turn = Turn::upright);

/// One sample a pixel, [height, width].
struct Gray16 {
  int width = 0;
  int height = 0;
  std::vector<std::uint16_t> pixels;
};

/// The samples of a 16-bit gray PNG as they are stored, such as depth has; no gamma, no orientation. Throws
/// Error(input) as decode_image does, and for an image of another kind.
[[nodiscard]] Gray16 decode_gray16(const std::filesystem::path& path);

/// The size decode_image would return, from the file's header. Throws as decode_image for what the header shows.
[[nodiscard]] ImageSize read_image_size(const std::filesystem::path& path, Turn turn = Turn::upright);
/// Whether that image has the pixels as the file stores them, not turned. Throws as read_image_size.
[[nodiscard]] bool is_stored_upright(const std::filesystem::path& path, Turn turn = Turn::upright);

}  // namespace lingbot_map
