#pragma once

#include <vector>

namespace lingbot_map {

/// What a set of errors amounts to, with the terms of the tools of the field.
struct ErrorStatistics {
  double rmse = 0;
  double mean = 0;
  double median = 0;  ///< of an even number of errors, the mean of the two in the middle
  double std = 0;     ///< around the mean, divided by the number of errors
  double min = 0;
  double max = 0;
  double sse = 0;  ///< sum of squares
};

/// All zero for no errors.
[[nodiscard]] ErrorStatistics statistics_of(std::vector<double> errors);

/// The value in the middle; of an even number, the mean of the two. `values` must not be empty; their order changes.
[[nodiscard]] double median_of(std::vector<double>& values);

}  // namespace lingbot_map
