#include "bench/device_time.hpp"

#include <algorithm>
#include <memory>

namespace lingbot_map::tool {
namespace {

constexpr int kMostSteps = 64;

}  // namespace

std::vector<double> device_seconds(Backend& backend, const std::function<void()>& step, const TimingOptions& options) {
  const std::unique_ptr<StageClock> clock = backend.make_clock();
  const auto timed = [&clock](const auto& work) {
    double seconds = 0;
    clock->start();
    work();
    clock->stop(seconds);
    clock->settle();
    return seconds;
  };
  const double once = timed(step);
  const int steps = once >= options.least_seconds
                        ? 1
                        : std::clamp(static_cast<int>(options.least_seconds / std::max(once, 1e-9)), 1, kMostSteps);
  const auto all_steps = [&] {
    for (int i = 0; i < steps; ++i) step();
  };
  const std::unique_ptr<Recording> recording = backend.record(all_steps);
  const auto run = [&] {
    if (recording) {
      backend.replay(*recording);
    } else {
      all_steps();
    }
  };
  for (int i = 0; i < options.warmup; ++i) (void)timed(run);
  std::vector<double> seconds;
  for (int i = 0; i < options.repeats; ++i) seconds.push_back(timed(run) / steps);
  return seconds;
}

}  // namespace lingbot_map::tool
