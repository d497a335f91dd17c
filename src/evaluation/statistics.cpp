#include "evaluation/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace lingbot_map {

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

ErrorStatistics statistics_of(std::vector<double> errors) {
  ErrorStatistics result;
  if (errors.empty()) return result;
  const auto count = static_cast<double>(errors.size());
  for (const double error : errors) {
    result.mean += error / count;
    result.sse += error * error;
  }
  double variance = 0;
  for (const double error : errors) variance += (error - result.mean) * (error - result.mean) / count;
  result.rmse = std::sqrt(result.sse / count);
  result.std = std::sqrt(variance);
  const auto [min, max] = std::ranges::minmax(errors);
  result.min = min;
  result.max = max;
  result.median = median_of(errors);
  return result;
}

}  // namespace lingbot_map
