#include "base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lingbot_map {
namespace {

class ThreadPoolOf : public testing::TestWithParam<int> {
 protected:
  ThreadPool pool{GetParam()};
};

TEST_P(ThreadPoolOf, HasTheThreadsAskedFor) { EXPECT_EQ(pool.size(), GetParam()); }

TEST_P(ThreadPoolOf, RunsEveryIndexOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
    std::atomic<bool> known_thread{true};
    pool.parallel_for(count, [&](std::int64_t index, int thread) {
      runs[static_cast<std::size_t>(index)].fetch_add(1);
      if (thread < 0 || thread >= pool.size()) known_thread = false;
    });
    EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& n) { return n == 1; })) << count;
    EXPECT_TRUE(known_thread);
  }
}

TEST_P(ThreadPoolOf, ShowsTheCallerWhatTheBodiesWrote) {
  std::vector<std::int64_t> values(64);
  for (std::int64_t round = 0; round < 2000; ++round) {
    pool.parallel_for(64, [&](std::int64_t index, int) { values[static_cast<std::size_t>(index)] = round * index; });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}), round * 63 * 32);
  }
}

TEST_P(ThreadPoolOf, GivesNoThreadNumberToTwoBodiesAtOnce) {
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(pool.size()));
  std::atomic<bool> shared{false};
  pool.parallel_for(2000, [&](std::int64_t, int thread) {
    auto& mine = busy[static_cast<std::size_t>(thread)];
    if (mine.fetch_add(1) != 0) shared = true;
    mine.fetch_sub(1);
  });
  EXPECT_FALSE(shared);
}

TEST_P(ThreadPoolOf, RethrowsAndWorksOn) {
  for (int round = 0; round < 50; ++round) {
    try {
      pool.parallel_for(100, [](std::int64_t index, int) {
        if (index == 37) throw std::runtime_error("index 37");
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "index 37");
    }
    std::atomic<int> runs{0};
    pool.parallel_for(100, [&](std::int64_t, int) { runs.fetch_add(1); });
    ASSERT_EQ(runs, 100);
  }
}

TEST_P(ThreadPoolOf, SerialisesCallersFromSeveralThreads) {
  constexpr std::size_t kCallers = 4;
  std::array<std::atomic<int>, kCallers> inside{};
  std::atomic<bool> overlapped{false};
  std::atomic<int> runs{0};
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 100; ++round) {
        pool.parallel_for(20, [&](std::int64_t, int) {
          inside[caller].fetch_add(1);
          for (std::size_t other = 0; other < kCallers; ++other) {
            if (other != caller && inside[other] != 0) overlapped = true;
          }
          runs.fetch_add(1);
          inside[caller].fetch_sub(1);
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(runs, 4 * 100 * 20);
}

TEST_P(ThreadPoolOf, EndsWhileItsThreadsSleepOrSpin) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool brief(GetParam());
    if (round % 2 == 0) brief.parallel_for(3, [](std::int64_t, int) {});
    if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Values(1, 2, 3, 8));

TEST(ThreadPool, TakesOneThreadAProcessorByItself) {
  const ThreadPool pool;
  EXPECT_GE(pool.size(), 1);
  EXPECT_LE(pool.size(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

TEST(ThreadPool, WakesThreadsThatWentToSleep) {
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<int> begun{0};
  pool.parallel_for(2, [&](std::int64_t, int) {
    begun.fetch_add(1);
    while (begun < 2) std::this_thread::yield();  // ends only when another thread has the other index
  });
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace lingbot_map
