#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lingbot_map::tool {

/// Where the model that comes with the program may be, the first place first: share/lingbot-map beside the folder of
/// `program` (as `make install` lays it), then models/ of the source tree that the program was built from.
[[nodiscard]] std::vector<std::filesystem::path> default_model_places(const std::filesystem::path& program);

/// The first of them that is a file. Throws Error(input) that names them all when there is none.
[[nodiscard]] std::filesystem::path first_model(const std::vector<std::filesystem::path>& places);

/// The model that is taken when none is named. Throws as first_model().
[[nodiscard]] std::filesystem::path default_model();
/// Above so many frames windows are more exact with it than one stream (docs/accuracy.md).
inline constexpr std::int64_t kDefaultModelFrames = 200;

}  // namespace lingbot_map::tool
