#include "timestamps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lingbot_map/error.hpp"

namespace lingbot_map::tool {
namespace {

using Rule = Timestamps::Rule;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "no error";
}

TEST(TimeInName, TakesTheLastNumber) {
  EXPECT_DOUBLE_EQ(time_in_name("000012.png").value(), 12);
  EXPECT_DOUBLE_EQ(time_in_name("frame_7.jpeg").value(), 7);
  EXPECT_DOUBLE_EQ(time_in_name("cam2_left_15b.jpg").value(), 15);
  EXPECT_DOUBLE_EQ(time_in_name("42").value(), 42);
  EXPECT_DOUBLE_EQ(time_in_name("a3.mp4.png").value(), 4);
}

TEST(TimeInName, KnowsADecimalPoint) {
  EXPECT_DOUBLE_EQ(time_in_name("1305031102.175304.png").value(), 1305031102.175304);
  EXPECT_DOUBLE_EQ(time_in_name("rgb_0.5.png").value(), 0.5);
  EXPECT_DOUBLE_EQ(time_in_name("img.25.png").value(), 25);
}

TEST(TimeInName, KnowsUnixTimesInSmallerUnits) {
  EXPECT_DOUBLE_EQ(time_in_name("1403636579763555584.png").value(), 1403636579.763555584);
  EXPECT_DOUBLE_EQ(time_in_name("1403636579763555.png").value(), 1403636579.763555);
  EXPECT_DOUBLE_EQ(time_in_name("1403636579763.png").value(), 1403636579.763);
  EXPECT_DOUBLE_EQ(time_in_name("1403636579.png").value(), 1403636579);
}

TEST(TimeInName, IsNothingWithoutADigit) {
  EXPECT_FALSE(time_in_name("left.png"));
  EXPECT_FALSE(time_in_name("left.jp2"));
  EXPECT_FALSE(time_in_name(""));
}

TEST(Timestamps, AreTheIndexInTheSourceOverTheRate) {
  Timestamps times(Rule::index, 10);
  EXPECT_DOUBLE_EQ(times.next({}, 0, "a.png"), 0);
  EXPECT_DOUBLE_EQ(times.next({}, 3, "b.png"), 0.3);
}

TEST(Timestamps, AreTheFramesOwnWhereItHasOne) {
  Timestamps times(Rule::index, 10);
  EXPECT_DOUBLE_EQ(times.next(0.04, 0, "v.mp4"), 0.04);
  EXPECT_DOUBLE_EQ(times.next(0.14, 1, "v.mp4"), 0.14);
}

TEST(Timestamps, AreTheNamesOnRequest) {
  Timestamps times(Rule::name, 10);
  EXPECT_DOUBLE_EQ(times.next({}, 0, "5.25.png"), 5.25);
  EXPECT_THAT(message_of([&] { times.next({}, 1, "left.png"); }), testing::StartsWith("left.png: no number"));
}

TEST(Timestamps, MustAscend) {
  Timestamps times(Rule::name, 10);
  times.next({}, 0, "a_5.png");
  EXPECT_THAT(message_of([&] { times.next({}, 1, "b_5.png"); }),
              testing::AllOf(testing::StartsWith("b_5.png"), testing::HasSubstr("a_5.png")));
}

TEST(Timestamps, RefuseATimeThatIsNoNumber) {
  Timestamps times(Rule::index, 10);
  EXPECT_THAT(message_of([&] { times.next(std::numeric_limits<double>::quiet_NaN(), 0, "v.mp4"); }),
              testing::HasSubstr("finite"));
}

}  // namespace
}  // namespace lingbot_map::tool
