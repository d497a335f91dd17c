#pragma once

#include <nlohmann/json.hpp>
#include <span>

namespace lingbot_map::tool {

/// Repeated measurements of one thing, all in its unit.
struct Statistics {
  double median = 0;
  double mean = 0;
  double deviation = 0;  ///< standard deviation of the sample; 0 of a single one
  double p99 = 0;        ///< the smallest that 99 of 100 do not exceed
  double min = 0;
  double max = 0;

  /// Needs at least one value.
  [[nodiscard]] static Statistics of(std::span<const double> values);
  /// All of it times `factor`, for another unit.
  [[nodiscard]] nlohmann::ordered_json json(double factor) const;
};

}  // namespace lingbot_map::tool
