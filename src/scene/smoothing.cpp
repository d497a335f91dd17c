#include "scene/smoothing.hpp"

#include <algorithm>
#include <cmath>

namespace lingbot_map::scene {

std::vector<double> smoothed(const std::vector<double>& values, double sigma) {
  const int count = static_cast<int>(values.size());
  const int reach = std::min(static_cast<int>(std::ceil(3 * sigma)), count - 1);
  if (reach < 1) return values;
  std::vector<double> weights(reach + 1);
  double total = 0;
  for (int i = 0; i <= reach; ++i) {
    weights[i] = std::exp(-0.5 * i * i / (sigma * sigma));
    total += i == 0 ? weights[i] : 2 * weights[i];
  }
  const auto at = [&](int i) {
    if (i < 0) return 2 * values.front() - values[-i];
    if (i >= count) return 2 * values.back() - values[2 * (count - 1) - i];
    return values[i];
  };
  std::vector<double> result(count);
  for (int i = 0; i < count; ++i) {
    double sum = weights[0] * values[i];
    for (int k = 1; k <= reach; ++k) sum += weights[k] * (at(i - k) + at(i + k));
    result[i] = sum / total;
  }
  return result;
}

}  // namespace lingbot_map::scene
