#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lingbot_map/types.hpp"
#include "media/image.hpp"
#include "media/image_header.hpp"

/// Decoders of single formats, for image.cpp. `file` is the whole file, `name` what messages call it. They give RGB as
/// stored, without orientation, and throw Error(input) on anything truncated or damaged.
namespace lingbot_map {

/// libjpeg, with the settings of the public loader (accurate DCT, smooth chroma).
[[nodiscard]] Image decode_jpeg(std::span<const std::uint8_t> file, const std::string& name);

/// libpng.
[[nodiscard]] Image decode_png(std::span<const std::uint8_t> file, const std::string& name);

/// The same for 16-bit gray, whose samples stay as they are; any other kind of PNG is an Error(input).
[[nodiscard]] Gray16 decode_png_gray16(std::span<const std::uint8_t> file, const std::string& name);

/// Every other format, through OpenCV. Not const: a TIFF's orientation tag is set to upright, because OpenCV applies it
/// and here the caller does.
[[nodiscard]] Image decode_opencv(std::span<std::uint8_t> file, const ImageHeader& header, const std::string& name);

/// An 8-bit sample over opaque white, in the integer arithmetic of Pillow's alpha_composite: 7 extra bits, rounded.
[[nodiscard]] constexpr std::uint8_t over_white(std::uint32_t sample, std::uint32_t alpha) noexcept {
  const std::uint32_t weighted = sample * alpha * 128 + 255 * (255 - alpha) * 128 + (128U << 7);
  return static_cast<std::uint8_t>(((weighted >> 8) + weighted) >> 8 >> 7);
}

/// Every pixel of `rgba` ([pixels, 4]) over white, into `rgb` ([pixels, 3]).
inline void composite_over_white(std::span<const std::uint8_t> rgba, std::span<std::uint8_t> rgb) noexcept {
  for (std::size_t in = 0, out = 0; out < rgb.size(); in += 4, out += 3) {
    for (std::size_t c = 0; c < 3; ++c) rgb[out + c] = over_white(rgba[in + c], rgba[in + 3]);
  }
}

}  // namespace lingbot_map
