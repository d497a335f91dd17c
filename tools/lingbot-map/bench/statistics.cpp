#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/message.hpp"

namespace lingbot_map::tool {

Statistics Statistics::of(std::span<const double> values) {
  check(!values.empty(), "statistics of nothing");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
  double squares = 0;
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  return {.median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2,
          .mean = mean,
          .deviation = count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : 0,
          .p99 = sorted[(99 * count + 99) / 100 - 1],
          .min = sorted.front(),
          .max = sorted.back()};
}

nlohmann::ordered_json Statistics::json(double factor) const {
  return {{"median", factor * median}, {"mean", factor * mean}, {"deviation", factor * deviation},
          {"p99", factor * p99},       {"min", factor * min},   {"max", factor * max}};
}

}  // namespace lingbot_map::tool
