#include "cache/camera_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lingbot_map/error.hpp"

namespace lingbot_map {
namespace {

constexpr int kIterations = 2;
constexpr int kBlocks = 3;
constexpr std::int64_t kWidth = 64;

float value_of(std::int64_t frame, int iteration, int block, bool key) {
  return static_cast<float>(frame * 1000 + iteration * 100 + block * 10 + (key ? 1 : 2));
}

void write_frame(CameraCache& cache, std::int64_t frame) {
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (int block = 0; block < kBlocks; ++block) {
      const Tensor key = cache.keys(iteration, block).rows(frame, 1);
      const Tensor value = cache.values(iteration, block).rows(frame, 1);
      std::fill_n(key.data<float>(), kWidth, value_of(frame, iteration, block, true));
      std::fill_n(value.data<float>(), kWidth, value_of(frame, iteration, block, false));
    }
  }
}

TEST(CameraCache, KeepsEveryFrameOfEveryPlane) {
  CameraCache cache(kIterations, kBlocks, kWidth);
  cache.prepare(8);
  for (std::int64_t frame = 0; frame < 8; ++frame) write_frame(cache, frame);
  cache.commit(8);
  while (cache.frames() < 3000) {
    cache.prepare(1);
    write_frame(cache, cache.frames());
    cache.commit(1);
  }
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (int block = 0; block < kBlocks; ++block) {
      const Tensor keys = cache.keys(iteration, block);
      const Tensor values = cache.values(iteration, block);
      ASSERT_EQ(keys.dim(0), 3000);
      ASSERT_EQ(keys.dim(1), kWidth);
      for (std::int64_t frame = 0; frame < 3000; ++frame) {
        ASSERT_EQ(keys.data<float>()[frame * kWidth + kWidth - 1], value_of(frame, iteration, block, true));
        ASSERT_EQ(values.data<float>()[frame * kWidth], value_of(frame, iteration, block, false));
      }
    }
  }
  EXPECT_EQ(cache.bytes_per_frame(), 2U * kIterations * kBlocks * kWidth * sizeof(float));
  EXPECT_EQ(cache.bytes_in_use(), 3000U * cache.bytes_per_frame());
}

TEST(CameraCache, ForgetsAFrameThatIsNotCommitted) {
  CameraCache cache(kIterations, kBlocks, kWidth);
  cache.prepare(2);
  write_frame(cache, 0);
  write_frame(cache, 1);
  cache.commit(2);
  for (int passing = 0; passing < 5; ++passing) {
    cache.prepare(1);
    EXPECT_EQ(cache.keys(0, 0).dim(0), 3);
    write_frame(cache, 2);
    EXPECT_EQ(cache.frames(), 2);
  }
  EXPECT_EQ(cache.bytes_in_use(), 3 * cache.bytes_per_frame());
}

TEST(CameraCache, RollsBackByCount) {
  CameraCache cache(1, 1, kWidth);
  cache.prepare(5);
  cache.commit(5);
  cache.roll_back(3);
  EXPECT_EQ(cache.frames(), 3);
  EXPECT_EQ(cache.keys(0, 0).dim(0), 3);
  cache.clear();
  EXPECT_EQ(cache.frames(), 0);
}

TEST(CameraCache, RefusesWhatMakesNoSense) {
  EXPECT_THROW(CameraCache(0, 1, 64), Error);
  EXPECT_THROW(CameraCache(1, 0, 64), Error);
  EXPECT_THROW(CameraCache(1, 1, 0), Error);
  CameraCache cache(1, 2, 64);
  EXPECT_THROW(cache.prepare(-1), Error);
  EXPECT_THROW(cache.prepare(std::int64_t{1} << 50), Error);
  cache.prepare(1);
  EXPECT_THROW(cache.commit(2), Error);
  EXPECT_THROW(cache.roll_back(1), Error);
  EXPECT_THROW((void)cache.keys(0, 2), Error);
  EXPECT_THROW((void)cache.values(1, 0), Error);
}

}  // namespace
}  // namespace lingbot_map
