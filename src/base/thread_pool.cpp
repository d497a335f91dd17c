#include "base/thread_pool.hpp"

#include <sched.h>

namespace lingbot_map {
namespace {

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const auto n = std::thread::hardware_concurrency();
  return n > 0 ? static_cast<int>(n) : 1;
}

// Operations of one frame follow each other within microseconds: a short spin saves a sleep and a wake for each.
constexpr int kSpins = 2000;
constexpr std::uint32_t kOpen = 0x80000000U;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  const int total = threads > 0 ? threads : available_processors();
  workers_.reserve(static_cast<std::size_t>(total - 1));
  for (int i = 1; i < total; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t, int)>& body) {
  const std::lock_guard caller(callers_);
  if (count <= 1 || workers_.empty()) {
    for (std::int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  body_ = &body;
  count_ = count;
  error_ = nullptr;
  next_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen);
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) {
    {
      const std::lock_guard lock(mutex_);
    }  // a thread on its way to sleep has seen the new generation, or sleeps by now
    wake_.notify_all();
  }
  run_indices(0);
  gate_.fetch_and(~kOpen);
  for (int spin = 0; gate_.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  body_ = nullptr;
  if (error_) std::rethrow_exception(error_);
}

bool ThreadPool::join_loop() {
  std::uint32_t gate = gate_.load();
  while ((gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1)) return true;
  }
  return false;
}

void ThreadPool::run_indices(int thread) {
  for (;;) {
    const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    try {
      (*body_)(index, thread);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(count_);
    }
  }
}

void ThreadPool::work(int thread) {
  std::uint64_t seen = 0;
  while (!stop_) {
    for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin) pause();
    if (generation_.load() == seen) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [&] { return generation_.load() != seen; });
      sleepers_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (join_loop()) {
      run_indices(thread);
      gate_.fetch_sub(1, std::memory_order_release);
    }
  }
}

}  // namespace lingbot_map
