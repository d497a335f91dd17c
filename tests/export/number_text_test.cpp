#include "export/number_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>

namespace lingbot_map {
namespace {

std::string number(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

std::string seconds(double value) {
  std::string text;
  append_seconds(text, value);
  return text;
}

TEST(NumberText, IsShortWhereThatIsExact) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(-1.5), "-1.5");
  EXPECT_EQ(number(0.1F), "0.100000001");
}

TEST(NumberText, GivesBackEveryFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::strtof(number(value).c_str(), nullptr), value) << number(value);
  }
}

TEST(NumberText, NamesWhatIsNoNumberAsReadersDo) {
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(number(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(NumberText, SecondsHaveNineDecimals) {
  EXPECT_EQ(seconds(0), "0.000000000");
  EXPECT_EQ(seconds(0.1), "0.100000000");
  EXPECT_EQ(seconds(1403636579.5), "1403636579.500000000");
}

}  // namespace
}  // namespace lingbot_map
