#pragma once

#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

namespace lingbot_map::tool {

/// Ctrl-C (SIGINT) and SIGTERM as an ordinary call instead of a signal handler. Make it before any other thread, so
/// that all of them inherit that the two signals are for this one. Until `arm` they end the program as usual; the first
/// one after it calls the callback, the second ends the program at once. A signal that was ignored when the program
/// started (nohup) stays ignored.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// `on_first` runs in a thread of its own, at most once, and must not throw.
  void arm(std::function<void()> on_first);
  /// Whether the first signal came.
  [[nodiscard]] bool happened();

 private:
  void watch();

  sigset_t signals_{};
  sigset_t earlier_mask_{};
  int wake_signal_ = 0;  // one of signals_; 0 if there are none
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> on_first_;
  bool waiting_ = false;
  bool happened_ = false;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace lingbot_map::tool
