#include "evaluation/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lingbot_map {
namespace {

TEST(Statistics, AreWhatTheirNamesSay) {
  const ErrorStatistics found = statistics_of({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(found.mean, 2.5);
  EXPECT_DOUBLE_EQ(found.median, 2.5);
  EXPECT_DOUBLE_EQ(found.min, 1);
  EXPECT_DOUBLE_EQ(found.max, 4);
  EXPECT_DOUBLE_EQ(found.sse, 30);
  EXPECT_DOUBLE_EQ(found.rmse, std::sqrt(7.5));
  EXPECT_DOUBLE_EQ(found.std, std::sqrt(1.25));
}

TEST(Statistics, OfOneErrorAndOfNone) {
  const ErrorStatistics one = statistics_of({3});
  EXPECT_EQ(one.rmse, 3);
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.std, 0);
  EXPECT_EQ(statistics_of({}).max, 0);
}

TEST(Statistics, TheMedianOfAnOddNumberIsTheOneInTheMiddle) {
  std::vector<double> values = {5, 1, 9, 7, 3};
  EXPECT_EQ(median_of(values), 5);
}

}  // namespace
}  // namespace lingbot_map
