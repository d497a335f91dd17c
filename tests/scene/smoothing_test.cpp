#include "scene/smoothing.hpp"

#include <gtest/gtest.h>

namespace lingbot_map::scene {
namespace {

TEST(Smoothing, LeavesStraightLinesAndEndsAsTheyAre) {
  const std::vector<double> line = {0, 1, 2, 3, 4, 5, 6};
  const std::vector<double> result = smoothed(line, 2);
  for (std::size_t i = 0; i < line.size(); ++i) EXPECT_NEAR(result[i], line[i], 1e-12);
}

TEST(Smoothing, SpreadsAStep) {
  std::vector<double> step(40, 0);
  for (std::size_t i = 20; i < 40; ++i) step[i] = 1;
  const std::vector<double> result = smoothed(step, 3);
  for (std::size_t i = 1; i < 40; ++i) {
    EXPECT_GE(result[i] - result[i - 1], -1e-12);
    EXPECT_LT(result[i] - result[i - 1], 0.14);
  }
}

TEST(Smoothing, TakesShortLists) {
  EXPECT_EQ(smoothed({}, 3).size(), 0U);
  EXPECT_EQ(smoothed({7}, 3), std::vector<double>{7});
  EXPECT_EQ(smoothed({7, 8}, 0), (std::vector<double>{7, 8}));
}

}  // namespace
}  // namespace lingbot_map::scene
