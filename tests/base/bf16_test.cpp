#include "base/bf16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lingbot_map {
namespace {

constexpr std::uint32_t kBit16 = 0x10000;

std::uint16_t rounded(std::uint32_t bits) { return bf16(std::bit_cast<float>(bits)).bits; }

TEST(Bf16, KeepsWhatItCanHold) {
  for (std::uint32_t high = 0; high < kBit16; ++high) {
    const float value = std::bit_cast<float>(high << 16);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bf16(value).bits, high);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(bf16(value))), high << 16);
  }
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  for (std::uint32_t high = 0; high < kBit16; ++high) {
    if ((high & 0x7f80U) == 0x7f80U) continue;  // infinities and NaN
    const std::uint32_t bits = high << 16;
    ASSERT_EQ(rounded(bits | 0x7fffU), high);
    ASSERT_EQ(rounded(bits | 0x8000U), high % 2 == 0 ? high : high + 1) << "a tie";
    ASSERT_EQ(rounded(bits | 0x8001U), high + 1) << "at the top this is infinity";
  }
}

TEST(Bf16, NanStaysNan) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xff800001U, 0xffffffffU, 0x7fc00000U, 0x7f80ffffU}) {
    const float back = static_cast<float>(bf16(std::bit_cast<float>(bits)));
    EXPECT_TRUE(std::isnan(back));
    EXPECT_EQ(std::signbit(back), bits >> 31U == 1);
  }
}

/// What the 16 bits mean, by the definition of binary16.
double half_value(std::uint32_t half) {
  const int exponent = static_cast<int>(half >> 10U & 0x1fU);
  const double mantissa = half & 0x3ffU;
  const double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                           : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                                            : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000U) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryOneIsReadExactlyAndWrittenBack) {
  for (std::uint32_t half = 0; half < kBit16; ++half) {
    const auto bits = static_cast<std::uint16_t>(half);
    const float value = half_to_float(bits);
    if (std::isnan(half_value(half))) {
      ASSERT_TRUE(std::isnan(value)) << half;
      ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << half;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), half_value(half)) << half;
    ASSERT_EQ(std::signbit(value), half >= 0x8000U) << half;
    ASSERT_EQ(float_to_half(value), half);
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  constexpr std::uint32_t kInfinity = 0x7c00;
  for (std::uint32_t half = 0; half < kInfinity; ++half) {
    // Infinity begins where the next number would be.
    const double next = half + 1 == kInfinity ? 65536.0 : half_value(half + 1);
    const auto middle = static_cast<float>((half_value(half) + next) / 2);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const auto write = [&](float value) { return float_to_half(sign != 0 ? -value : value) ^ sign; };
      ASSERT_EQ(write(middle), half + half % 2) << half;
      ASSERT_EQ(write(std::nextafter(middle, 0.0F)), half);
      ASSERT_EQ(write(std::nextafter(middle, infinity)), half + 1);
    }
  }
  EXPECT_EQ(float_to_half(1e30F), kInfinity);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), kInfinity);
  EXPECT_EQ(float_to_half(1e-30F), 0U);
  EXPECT_EQ(float_to_half(-1e-30F), 0x8000U);
}

}  // namespace
}  // namespace lingbot_map
