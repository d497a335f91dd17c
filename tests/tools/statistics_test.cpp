#include "bench/statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace lingbot_map::tool {
namespace {

TEST(Statistics, OfOneValueAreThatValue) {
  const Statistics one = Statistics::of(std::vector<double>{3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.mean, 3);
  EXPECT_EQ(one.deviation, 0);
  EXPECT_EQ(one.p99, 3);
}

TEST(Statistics, DoNotDependOnTheOrder) {
  const Statistics four = Statistics::of(std::vector<double>{9, 1, 5, 3});
  EXPECT_EQ(four.median, 4);
  EXPECT_EQ(four.mean, 4.5);
  EXPECT_NEAR(four.deviation, 3.41565, 1e-5);
  EXPECT_EQ(four.p99, 9);
  EXPECT_EQ(four.min, 1);
  EXPECT_EQ(four.max, 9);
}

TEST(Statistics, P99LeavesOneOfAHundredOut) {
  std::vector<double> values(200);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_EQ(Statistics::of(values).p99, 198);
  values.resize(100);
  EXPECT_EQ(Statistics::of(values).p99, 99);
}

TEST(Statistics, AreWrittenInAnotherUnit) {
  const auto json = Statistics::of(std::vector<double>{0.5, 1.5}).json(1000);
  EXPECT_EQ(json["median"], 1000);
  EXPECT_EQ(json["max"], 1500);
}

}  // namespace
}  // namespace lingbot_map::tool
