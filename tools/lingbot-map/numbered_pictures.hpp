#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lingbot_map::tool {

/// What stands before the number in the names of pictures of frames.
inline constexpr std::string_view kFramePrefix = "frame_";

/// "frame_000012.png" for prefix "frame_" and index 12.
[[nodiscard]] std::string numbered_picture(std::string_view prefix, std::int64_t index);

/// Makes a folder for pictures with such names, and removes those of an earlier run from number `first` on, so that
/// none of its frames is taken for one of this. Throws Error(output), also when not all before `first` are there.
void prepare_pictures(const std::filesystem::path& folder, std::string_view prefix, std::int64_t first = 0);

}  // namespace lingbot_map::tool
