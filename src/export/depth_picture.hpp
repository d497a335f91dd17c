#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// What one unit of depth or of confidence is in 16-bit pictures: 65.535 is the largest value they hold.
inline constexpr double kGray16Scale = 1000;

/// Values times kGray16Scale, rounded; 65535 for all that is larger, 0 for what is negative or NaN.
[[nodiscard]] std::vector<std::uint16_t> gray16(std::span<const float> values);

/// Depth in colours, from red for near over green to blue for far. The scale is inverse depth between its 2nd and 98th
/// percentile in this frame; what is not finite or not positive is black. `depth` is [height, width].
[[nodiscard]] Image depth_picture(std::span<const float> depth, int width, int height);
/// Confidence in colours, from blue for low to red for high. The scale is the logarithm of the confidence between its
/// 2nd and 98th percentile in this frame; what is not finite or not positive is black. `confidence` is [height, width].
[[nodiscard]] Image confidence_picture(std::span<const float> confidence, int width, int height);

}  // namespace lingbot_map
