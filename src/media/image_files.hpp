#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace lingbot_map {

/// Order in which people number files: runs of digits compare as numbers of any length (img_2 before img_10), all other
/// bytes as they are; equal numbers with fewer leading zeros come first. A strict total order: only equal texts tie.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b) noexcept;

/// True if the name ends in the extension of an image type that decode_image reads, in any case.
[[nodiscard]] bool has_image_extension(const std::filesystem::path& path);

/// The images directly inside `folder`, by extension, in natural order of their names; hidden files (".x") are left
/// out. Throws Error(input) if the folder does not exist, is none, cannot be read or holds no image.
[[nodiscard]] std::vector<std::filesystem::path> list_images(const std::filesystem::path& folder);

}  // namespace lingbot_map
