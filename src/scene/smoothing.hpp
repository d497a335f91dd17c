#pragma once

#include <vector>

namespace lingbot_map::scene {

/// The values averaged with the weights of a bell curve whose standard deviation is `sigma` values; beyond the ends the
/// values go on as point reflections, so that ends stay where they are.
[[nodiscard]] std::vector<double> smoothed(const std::vector<double>& values, double sigma);

}  // namespace lingbot_map::scene
