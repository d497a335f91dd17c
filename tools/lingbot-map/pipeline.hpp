#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/bounded_queue.hpp"

namespace lingbot_map::tool {

/// The three steps of a stream. Each runs in a thread of its own (`transform` and `finish` in the caller's), so that
/// reading, computing and writing overlap.
template <typename Input, typename Output>
struct Stages {
  std::function<std::optional<Input>()> produce;        ///< the next input; nothing at the end
  std::function<std::vector<Output>(Input)> transform;  ///< any number of outputs, in order
  std::function<std::vector<Output>()> finish;          ///< what is left after the last input
  std::function<void(Output)> consume;
  /// Outputs of earlier inputs that `transform` has not given yet, wherever the stream ended. Empty: it gives them all
  /// at once.
  std::function<std::vector<Output>()> drain{};
};

namespace detail {

/// The first exception that any of the threads met.
class FirstError {
 public:
  void capture() {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  [[nodiscard]] bool happened() {
    const std::lock_guard lock(mutex_);
    return error_ != nullptr;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace detail

/// Runs the stages to the end of the stream; at most `capacity` items wait between two of them.
///
/// A stop that is asked for from outside ends the stream early, as if the input that is being transformed had been the
/// last: inputs that wait are dropped, `finish` runs, every output is consumed. The owner of a `produce` that may block
/// wakes it with a callback on the same stop source.
///
/// An exception of any stage is rethrown here after all threads have ended. One of `produce` lets all earlier inputs be
/// transformed and consumed, but not `finish`; one of `transform`, `drain` or `finish` lets earlier outputs be
/// consumed, those that `drain` still has included; these and one of `consume` ask `stop` to stop.
template <typename Input, typename Output>
void run_pipeline(const Stages<Input, Output>& stages, std::size_t capacity, std::stop_source& stop) {
  BoundedQueue<Input> inputs(capacity);
  BoundedQueue<Output> outputs(capacity);
  detail::FirstError error;
  const std::stop_callback drop_inputs(stop.get_token(), [&inputs] { inputs.cancel(); });
  {
    const std::jthread consumer([&] {
      try {
        while (auto output = outputs.pop()) stages.consume(*std::move(output));
      } catch (...) {
        error.capture();
        outputs.cancel();
        stop.request_stop();
      }
    });
    const std::jthread producer([&] {
      try {
        while (auto input = stages.produce())
          if (!inputs.push(*std::move(input))) break;
      } catch (...) {
        error.capture();
      }
      inputs.close();
    });
    const auto hand_on = [&outputs](std::vector<Output> results) {
      for (Output& result : results)
        if (!outputs.push(std::move(result))) return;
    };
    const auto guarded = [&error, &stop](const auto& work) {
      try {
        work();
      } catch (...) {
        error.capture();
        stop.request_stop();
      }
    };
    guarded([&] {
      while (auto input = inputs.pop()) hand_on(stages.transform(*std::move(input)));
    });
    guarded([&] {
      if (stages.drain) hand_on(stages.drain());
    });
    guarded([&] {
      if (!error.happened()) hand_on(stages.finish());
    });
    outputs.close();
  }
  error.rethrow();
}

}  // namespace lingbot_map::tool
