#pragma once

#include "lingbot_map/types.hpp"
#include "media/float_map.hpp"

namespace lingbot_map {

/// The image in another size, by OpenCV's bilinear interpolation between pixel centres, without antialiasing. All sizes
/// positive.
[[nodiscard]] Image resize_bilinear(const Image& image, int width, int height);

/// The same for a map.
[[nodiscard]] FloatMap resize_bilinear(const FloatMap& map, int width, int height);

}  // namespace lingbot_map
