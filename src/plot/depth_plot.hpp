#pragma once

#include <span>
#include <string>

#include "evaluation/depth_map.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// A frame's true depth and an estimate of it, already times its scale. The truth may have another size.
struct DepthComparison {
  std::string name;  ///< stands above it: "frame 12"
  DepthMap estimate;
  DepthMap truth;
};

/// Frames side by side: the truth, the estimate in the same colours (red near, blue far, black no depth), and the
/// relative difference |estimate - truth| / truth from black (none) over red to white (a half or more; gray where one
/// of the two has no depth). Of more than six frames six are taken, evenly spread. Needs one at least.
[[nodiscard]] Image draw_depth(std::span<const DepthComparison> frames);

}  // namespace lingbot_map
