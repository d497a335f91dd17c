#pragma once

#include "lingbot_map/types.hpp"
#include "sky/sky_mask.hpp"

namespace lingbot_map {

/// For looking at: the frame, its mask, and the frame with sky mixed as 0.35 of its colour and 0.65 of (255, 64, 64),
/// side by side. [height, 3 * width, 3]. Frame and mask have the same size.
[[nodiscard]] Image sky_picture(const Image& image, const SkyMask& mask);

}  // namespace lingbot_map
