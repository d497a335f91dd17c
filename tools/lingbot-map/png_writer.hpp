#pragma once

#include "export/picture_folder.hpp"

namespace lingbot_map::tool {

/// Writes PNG where the build can, else empty.
[[nodiscard]] PngWriter png_writer();

}  // namespace lingbot_map::tool
