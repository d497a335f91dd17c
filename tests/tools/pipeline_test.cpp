#include "pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

namespace lingbot_map::tool {
namespace {

using namespace std::chrono_literals;
using IntStages = Stages<int, int>;

/// Counts from 0 to count - 1.
std::function<std::optional<int>()> numbers(int count) {
  return [count, next = 0]() mutable -> std::optional<int> {
    if (next == count) return std::nullopt;
    return next++;
  };
}

struct Fixture {
  std::vector<int> consumed;
  bool finished = false;
  std::stop_source stop;

  IntStages stages(int count) {
    return {numbers(count), [](int value) { return std::vector<int>{10 * value}; },
            [this] {
              finished = true;
              return std::vector<int>{};
            },
            [this](int value) { consumed.push_back(value); }};
  }
};

TEST(BoundedQueue, KeepsOrderAndEndsAfterTheLastItem) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  queue.close();
  EXPECT_FALSE(queue.push(3));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, HoldsAFastProducerBack) {
  BoundedQueue<int> queue(2);
  std::atomic<int> pushed = 0;
  std::jthread producer([&] {
    while (pushed < 10 && queue.push(pushed)) ++pushed;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(pushed, 2);
  for (int expected = 0; expected < 10; ++expected) EXPECT_EQ(queue.pop(), expected);
}

TEST(BoundedQueue, CancelFreesWhoWaitsAndDropsWhatIsIn) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1));
  std::atomic<int> answer = -1;
  std::jthread producer([&] { answer = queue.push(2) ? 1 : 0; });
  std::this_thread::sleep_for(10ms);
  queue.cancel();
  producer.join();
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesAWaitingConsumer) {
  BoundedQueue<int> queue(1);
  std::jthread closer([&] {
    std::this_thread::sleep_for(10ms);
    queue.close();
  });
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(Pipeline, HandsEverythingOnInOrder) {
  Fixture fixture;
  IntStages stages = fixture.stages(100);
  std::vector<int> waiting;
  stages.transform = [&](int value) {
    waiting.push_back(value);
    return waiting.size() % 7 == 0 ? std::exchange(waiting, {}) : std::vector<int>{};
  };
  stages.finish = [&] { return waiting; };
  run_pipeline(stages, 3, fixture.stop);
  std::vector<int> all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(fixture.consumed, all);
  EXPECT_FALSE(fixture.stop.stop_requested());
}

TEST(Pipeline, DoesNotReadAheadOfItsQueue) {
  Fixture fixture;
  std::atomic<int> produced = 0;
  std::atomic<int> consumed = 0;
  std::atomic<int> furthest = 0;
  IntStages stages = fixture.stages(0);
  stages.produce = [&]() -> std::optional<int> {
    if (produced == 50) return std::nullopt;
    furthest = std::max<int>(furthest, produced - consumed);
    return produced++;
  };
  stages.consume = [&](int) {
    std::this_thread::sleep_for(1ms);
    ++consumed;
  };
  run_pipeline(stages, 2, fixture.stop);
  EXPECT_EQ(consumed, 50);
  EXPECT_LE(furthest, 2 + 2 + 4);  // two queues, and what is in the hands of the three stages
}

TEST(Pipeline, AnErrorWhileReadingLetsEarlierFramesThrough) {
  Fixture fixture;
  IntStages stages = fixture.stages(0);
  stages.produce = [next = 0]() mutable -> std::optional<int> {
    if (next == 5) throw std::runtime_error("bad frame");
    return next++;
  };
  EXPECT_THROW(run_pipeline(stages, 2, fixture.stop), std::runtime_error);
  EXPECT_EQ(fixture.consumed, (std::vector<int>{0, 10, 20, 30, 40}));
  EXPECT_FALSE(fixture.finished);
}

TEST(Pipeline, AnErrorWhileComputingLetsEarlierResultsThrough) {
  Fixture fixture;
  IntStages stages = fixture.stages(1000);
  stages.transform = [](int value) {
    if (value == 3) throw std::runtime_error("no memory");
    return std::vector<int>{value};
  };
  EXPECT_THROW(run_pipeline(stages, 2, fixture.stop), std::runtime_error);
  EXPECT_EQ(fixture.consumed, (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(fixture.finished);
  EXPECT_TRUE(fixture.stop.stop_requested());
}

TEST(Pipeline, AnErrorWhileWritingStopsTheOthers) {
  Fixture fixture;
  IntStages stages = fixture.stages(1'000'000'000);
  stages.consume = [](int value) {
    if (value == 50) throw std::runtime_error("disk full");
  };
  EXPECT_THROW(run_pipeline(stages, 2, fixture.stop), std::runtime_error);
  EXPECT_TRUE(fixture.stop.stop_requested());
}

TEST(Pipeline, AnErrorWhileFinishingIsReported) {
  Fixture fixture;
  IntStages stages = fixture.stages(3);
  stages.finish = []() -> std::vector<int> { throw std::runtime_error("too late"); };
  EXPECT_THROW(run_pipeline(stages, 2, fixture.stop), std::runtime_error);
  EXPECT_EQ(fixture.consumed, (std::vector<int>{0, 10, 20}));
}

/// Stages that give every output one input later, as a device that is always one frame behind.
IntStages late_stages(Fixture& fixture, int count, std::optional<int>& on_its_way) {
  IntStages stages = fixture.stages(count);
  stages.transform = [&on_its_way](int value) {
    const std::optional<int> done = std::exchange(on_its_way, 10 * value);
    return done ? std::vector<int>{*done} : std::vector<int>{};
  };
  stages.drain = [&on_its_way] {
    const std::optional<int> done = std::exchange(on_its_way, std::nullopt);
    return done ? std::vector<int>{*done} : std::vector<int>{};
  };
  return stages;
}

TEST(Pipeline, TakesWhatIsOnItsWayBeforeItFinishes) {
  Fixture fixture;
  std::optional<int> on_its_way;
  IntStages stages = late_stages(fixture, 3, on_its_way);
  stages.finish = [] { return std::vector<int>{99}; };
  run_pipeline(stages, 2, fixture.stop);
  EXPECT_EQ(fixture.consumed, (std::vector<int>{0, 10, 20, 99}));
}

TEST(Pipeline, LosesNothingThatIsOnItsWayWhenReadingFails) {
  Fixture fixture;
  std::optional<int> on_its_way;
  IntStages stages = late_stages(fixture, 0, on_its_way);
  stages.produce = [next = 0]() mutable -> std::optional<int> {
    if (next == 3) throw std::runtime_error("bad frame");
    return next++;
  };
  EXPECT_THROW(run_pipeline(stages, 2, fixture.stop), std::runtime_error);
  EXPECT_EQ(fixture.consumed, (std::vector<int>{0, 10, 20}));
  EXPECT_FALSE(fixture.finished);
}

TEST(Pipeline, LosesNothingThatIsOnItsWayWhenComputingFails) {
  Fixture fixture;
  std::optional<int> on_its_way;
  IntStages stages = late_stages(fixture, 10, on_its_way);
  stages.transform = [transform = stages.transform](int value) {
    if (value == 3) throw std::runtime_error("wrong size");
    return transform(value);
  };
  EXPECT_THROW(run_pipeline(stages, 2, fixture.stop), std::runtime_error);
  EXPECT_EQ(fixture.consumed, (std::vector<int>{0, 10, 20}));
  EXPECT_FALSE(fixture.finished);
}

TEST(Pipeline, TheFirstErrorIsTheOneThatIsReported) {
  Fixture fixture;
  IntStages stages = fixture.stages(10);
  stages.transform = [](int) -> std::vector<int> { throw std::runtime_error("first"); };
  stages.drain = []() -> std::vector<int> { throw std::runtime_error("second"); };
  try {
    run_pipeline(stages, 2, fixture.stop);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
}

TEST(Pipeline, AStopFinishesWithWhatWasTransformed) {
  Fixture fixture;
  IntStages stages = fixture.stages(1'000'000'000);
  stages.transform = [&](int value) {
    if (value == 20) fixture.stop.request_stop();
    return std::vector<int>{value};
  };
  run_pipeline(stages, 2, fixture.stop);
  EXPECT_TRUE(fixture.finished);
  ASSERT_EQ(fixture.consumed.size(), 21U);
  EXPECT_EQ(fixture.consumed.back(), 20);
}

TEST(Pipeline, AStopWakesAReaderThatWaits) {
  Fixture fixture;
  std::mutex mutex;
  std::condition_variable_any changed;
  IntStages stages = fixture.stages(0);
  stages.produce = [&]() -> std::optional<int> {  // a camera that gives no frame
    std::unique_lock lock(mutex);
    changed.wait(lock, fixture.stop.get_token(), [] { return false; });
    return std::nullopt;
  };
  const std::jthread user([&] {
    std::this_thread::sleep_for(10ms);
    fixture.stop.request_stop();
  });
  run_pipeline(stages, 2, fixture.stop);
  EXPECT_TRUE(fixture.finished);
  EXPECT_TRUE(fixture.consumed.empty());
}

TEST(Pipeline, AStopBeforeTheStartGivesNothing) {
  Fixture fixture;
  fixture.stop.request_stop();
  run_pipeline(fixture.stages(10), 2, fixture.stop);
  EXPECT_TRUE(fixture.consumed.empty());
  EXPECT_TRUE(fixture.finished);
}

}  // namespace
}  // namespace lingbot_map::tool
