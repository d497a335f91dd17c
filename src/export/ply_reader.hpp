#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "export/point_cloud.hpp"

namespace lingbot_map {

/// The points of a binary little-endian PLY file whose first element is `vertex` with float x, y, z and uchar red,
/// green, blue among its properties; others are left out, as are further elements. Of more than `most` points, every
/// n-th is taken. Points that are not finite are left out. What lies past the number of vertices in the header, as
/// after a run that was killed, is ignored. Throws Error(input) that names the file, what was found and what was
/// expected.
[[nodiscard]] std::vector<ColouredPoint> read_ply_points(const std::filesystem::path& path, std::size_t most);

}  // namespace lingbot_map
