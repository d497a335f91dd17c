#pragma once

#include <functional>
#include <vector>

#include "backend/backend.hpp"

namespace lingbot_map::tool {

struct TimingOptions {
  int repeats = 20;
  int warmup = 2;
  double least_seconds = 2e-3;  ///< a repeat runs the step as often as takes about that long
};

/// Seconds of the device for one run of `step`, once for each repeat. Where the back end can, steps are recorded and
/// replayed, so that the host's calls do not count. `step` must be repeatable and have run before.
[[nodiscard]] std::vector<double> device_seconds(Backend& backend, const std::function<void()>& step,
                                                 const TimingOptions& options);

}  // namespace lingbot_map::tool
