#include "media/time_sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lingbot_map {
namespace {

/// Frames of a video of this rate that are taken.
std::vector<int> taken(double source_fps, double fps, int frames, double unit = 0) {
  TimeSampler sampler(fps);
  std::vector<int> indices;
  for (int i = 0; i < frames; ++i) {
    const double time = i / source_fps;
    if (sampler.take(unit > 0 ? std::round(time / unit) * unit : time)) indices.push_back(i);
  }
  return indices;
}

TEST(TimeSampler, TwelveOfThirtyAreTwelve) {
  EXPECT_EQ(taken(30, 12, 300).size(), 120U);
  EXPECT_EQ(taken(30, 12, 11), (std::vector<int>{0, 3, 5, 8, 10}));
}

TEST(TimeSampler, WholeStepsAreRegular) { EXPECT_EQ(taken(30, 10, 10), (std::vector<int>{0, 3, 6, 9})); }

TEST(TimeSampler, NeverMoreThanThereAre) {
  EXPECT_EQ(taken(25, 25, 250).size(), 250U);
  EXPECT_EQ(taken(25, 100, 250).size(), 250U);
  EXPECT_EQ(taken(24, 25, 240).size(), 240U);
}

TEST(TimeSampler, TimesRoundedToMillisecondsLoseNothing) {
  EXPECT_EQ(taken(30, 30, 300, 1e-3).size(), 300U);
  EXPECT_EQ(taken(30000.0 / 1001, 30, 300, 1e-3).size(), 300U);
  EXPECT_EQ(taken(30, 12, 300, 1e-3).size(), 120U);
}

TEST(TimeSampler, AfterAPauseItDoesNotCatchUp) {
  TimeSampler sampler(10);
  EXPECT_TRUE(sampler.take(0));
  EXPECT_TRUE(sampler.take(7.02));
  EXPECT_FALSE(sampler.take(7.05));
  EXPECT_TRUE(sampler.take(7.1));
}

TEST(TimeSampler, TheFirstFrameIsTakenWhenverItComes) {
  TimeSampler sampler(1);
  EXPECT_TRUE(sampler.take(5.7));
  EXPECT_FALSE(sampler.take(5.9));
  EXPECT_TRUE(sampler.take(6));
}

}  // namespace
}  // namespace lingbot_map
