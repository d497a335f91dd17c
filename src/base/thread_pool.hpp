#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lingbot_map {

/// A fixed set of threads that share the indices of a loop. Which thread takes which index is not fixed, so a body must
/// give the same result whoever runs it. A loop waits only for threads that have joined it: on a busy machine a thread
/// that sleeps through it costs nothing.
class ThreadPool {
 public:
  /// `threads` includes the caller of parallel_for; 0 takes the number of processors this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  /// Runs body(index, thread) for every index in [0, count), `thread` in [0, size()); returns when all are done. The
  /// first exception of a body is rethrown here. Calls from several threads are serialised; a body must not call it
  /// again.
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t index, int thread)>& body);

 private:
  void work(int thread);
  void run_indices(int thread);
  [[nodiscard]] bool join_loop();

  std::vector<std::thread> workers_;
  std::mutex callers_;
  std::mutex mutex_;  ///< of generation_ and stop_ when a thread goes to sleep, and of error_
  std::condition_variable wake_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<std::uint32_t> gate_{0};  ///< the open bit, and the number of workers inside
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_ = 0;
  const std::function<void(std::int64_t, int)>* body_ = nullptr;
  std::exception_ptr error_;
  std::atomic<bool> stop_{false};
};

}  // namespace lingbot_map
