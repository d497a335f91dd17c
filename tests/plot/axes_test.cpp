#include "plot/axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(Range range, int wanted) {
  const Ticks ticks = ticks_in(range, wanted);
  std::vector<std::string> texts;
  for (const double value : ticks.values) texts.push_back(ticks.label(value));
  return texts;
}

TEST(Ticks, AreRoundNumbersInsideTheRange) {
  EXPECT_THAT(labels({0, 10}, 5), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(labels({-0.13, 0.27}, 4), ElementsAre("-0.1", "0.0", "0.1", "0.2"));
  EXPECT_THAT(labels({-1200, 900}, 4), ElementsAre("-1000", "-500", "0", "500"));
  EXPECT_THAT(labels({3.001, 3.009}, 4), ElementsAre("3.002", "3.004", "3.006", "3.008"));
}

TEST(Ticks, OfVerySmallAndVeryLargeRanges) {
  EXPECT_THAT(labels({0, 1e-12}, 2), ElementsAre("0", "5e-13", "1e-12"));
  EXPECT_THAT(labels({0, 4e9}, 2), ElementsAre("0", "2e+09", "4e+09"));
  EXPECT_THAT(labels({40000000, 40000002}, 2), ElementsAre("40000000", "40000001", "40000002"));
  EXPECT_LE(labels({1e16, 1e16 + 2}, 5).size(), 15);  // where a step changes nothing
}

TEST(Axes, PutValuesWhereTheyBelong) {
  Canvas canvas(200, 100);
  const Axes axes(canvas, {10, 20}, {110, 70}, {0, 10}, {-1, 1});
  EXPECT_EQ(axes.place(0, -1).x, 10);
  EXPECT_EQ(axes.place(0, -1).y, 70);
  EXPECT_EQ(axes.place(10, 1).x, 110);
  EXPECT_EQ(axes.place(10, 1).y, 20);
  EXPECT_EQ(axes.place(5, 0).y, 45);
}

}  // namespace
}  // namespace lingbot_map
