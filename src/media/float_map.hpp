#pragma once

#include <vector>

namespace lingbot_map {

/// A map of numbers, row by row.
struct FloatMap {
  int width = 0;
  int height = 0;
  std::vector<float> values;  ///< [height, width]
};

}  // namespace lingbot_map
