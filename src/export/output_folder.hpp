#pragma once

#include <filesystem>

namespace lingbot_map {

/// Makes a folder and those above it, unless it is there. Throws Error(output) when that is not possible or the name
/// belongs to something else.
void make_output_folder(const std::filesystem::path& folder);

}  // namespace lingbot_map
