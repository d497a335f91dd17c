#include "media/time_sampler.hpp"

#include <cmath>

namespace lingbot_map {

bool TimeSampler::take(double seconds) noexcept {
  constexpr double kRounding = 1e-3;  // containers round times to a millisecond
  const double steps = (seconds + kRounding) * fps_;
  if (steps < due_) return false;
  due_ = std::floor(steps) + 1;
  return true;
}

}  // namespace lingbot_map
