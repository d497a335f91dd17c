#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// Writes 8-bit RGB. Throws Error(output) that names the file if it cannot be written whole.
void write_png(const std::filesystem::path& path, const Image& image);

/// Writes 8-bit gray, [height, width]. Throws as write_png.
void write_png8(const std::filesystem::path& path, int width, int height, std::span<const std::uint8_t> pixels);

/// Writes 16-bit gray, [height, width]. Throws as write_png.
void write_png16(const std::filesystem::path& path, int width, int height, std::span<const std::uint16_t> pixels);

}  // namespace lingbot_map
