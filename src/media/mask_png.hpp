#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lingbot_map {

/// 8-bit gray, [height, width], with a line of text in the file that says what it was made from.
struct MaskPng {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
  std::string origin;  ///< printable ASCII
};

/// Writes it losslessly; `origin` stands in a tEXt chunk under the keyword `lingbot-map`. Throws Error(output) that
/// names the file if it cannot be written whole.
void write_mask_png(const std::filesystem::path& path, const MaskPng& mask);

/// What the file says that it was made from; nothing if it is no PNG of write_mask_png. Looks only at its beginning.
/// Throws Error(input) if there is no such file, or it cannot be read.
[[nodiscard]] std::optional<std::string> read_mask_origin(const std::filesystem::path& path);

/// The pixels of a file that has an origin. Throws Error(input) if it is damaged or of another size.
[[nodiscard]] std::vector<std::uint8_t> read_mask_pixels(const std::filesystem::path& path, int width, int height);

}  // namespace lingbot_map
