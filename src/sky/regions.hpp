#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// A division of an image into connected regions of nearly one colour and depth.
struct Regions {
  int count = 0;
  std::vector<std::int32_t> labels;  ///< [height, width], 0 to count - 1
};

/// Divides an image by the method of Felzenszwalb and Huttenlocher (Efficient Graph-Based Image Segmentation, IJCV
/// 2004): neighbours are joined in the order of their difference, as long as it is not much above what already lies
/// within both regions. The difference is the largest of the three channels' (0 to 255) in an image smoothed over 3 x
/// 3 pixels, and more across a jump of depth. `log_depth` ([height, width]) is finite.
[[nodiscard]] Regions divide(const Image& image, std::span<const float> log_depth);

/// The mean of each sample and its neighbours, 3 x 3, fewer at the border.
[[nodiscard]] Image smoothed(const Image& image);

}  // namespace lingbot_map
