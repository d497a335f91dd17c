#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backend/kernel_sets.hpp"

namespace lingbot_map::test {
namespace {

class Elementary : public KernelSets {
 protected:
  static float exp_of(float x) {
    float y = 0;
    kernels().exp(&x, 1, &y);
    return y;
  }
};

constexpr float kSmallest = -87.33654F;  ///< e^x is a normal float32 from here
constexpr float kLargest = 88.72283F;    ///< to here

TEST_P(Elementary, ExpIsGoodToTwoUnitsOverItsWholeRange) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32U; bits += 9973) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (value >= kSmallest && value <= kLargest) x.push_back(value);
  }
  for (float value = kSmallest; value <= kLargest; value += 0.00371F) x.push_back(value);
  x.push_back(kLargest);
  std::vector<float> y(x.size());
  kernels().exp(x.data(), static_cast<std::ptrdiff_t>(x.size()), y.data());
  std::vector<double> expected;
  for (const float value : x) expected.push_back(std::exp(static_cast<double>(value)));
  expect_close(
      y, expected, [&](std::int64_t i) { return 2 * 2 * kUnit * expected[static_cast<std::size_t>(i)]; }, "exp");
}

TEST_P(Elementary, ExpEndsInZeroAndInfinityAndKeepsNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_EQ(exp_of(-0.0F), 1);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::denorm_min()), 1);
  for (const float x : {std::nextafter(kSmallest, -kInfinity), -100.0F, -1e30F, -kInfinity}) EXPECT_EQ(exp_of(x), 0);
  for (const float x : {std::nextafter(kLargest, kInfinity), 100.0F, 1e30F, kInfinity}) EXPECT_EQ(exp_of(x), kInfinity);
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(exp_of(-std::numeric_limits<float>::quiet_NaN())));
}

TEST_P(Elementary, ExpOfAnyCountIsThatOfEach) {
  Random random(1);
  for (std::int64_t count = 0; count <= 40; ++count) {
    TestTensor x(DType::f32, {1, count + 1});
    x.fill(random, -5, 5);
    TestTensor y(DType::f32, {1, count + 1});
    y.set(count, 42);
    kernels().exp(x.view().data<float>(), count, y.view().data<float>());
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(y[i], exp_of(x[i]));
    EXPECT_EQ(y[count], 42);
  }
}

/// Every upper half with the lower halves next to 0, a tie, and the end.
std::vector<float> numbers_to_round() {
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000U; ++high) {
    for (const std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      x.push_back(std::bit_cast<float>(high << 16U | low));
    }
  }
  return x;
}

// The instruction of AVX-512 BF16 takes subnormal numbers for zero.
TEST_P(Elementary, Bf16IsRoundedToNearestTiesToEven) {
  const std::vector<float> x = numbers_to_round();
  std::vector<bf16> y(x.size());
  kernels().to_bf16(x.data(), static_cast<std::ptrdiff_t>(x.size()), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (kernels().native_bf16 && std::fpclassify(x[i]) == FP_SUBNORMAL) {
      ASSERT_TRUE(y[i].bits == bf16(x[i]).bits || static_cast<float>(y[i]) == 0) << x[i];
      ASSERT_EQ(std::signbit(static_cast<float>(y[i])), std::signbit(x[i]));
    } else {
      ASSERT_EQ(y[i].bits, bf16(x[i]).bits) << std::bit_cast<std::uint32_t>(x[i]);
    }
  }
}

TEST_P(Elementary, Bf16BecomesFloat32Exactly) {
  std::vector<bf16> x(0x10000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> y(x.size());
  kernels().to_f32(x.data(), static_cast<std::ptrdiff_t>(x.size()), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), i << 16U);
}

TEST_P(Elementary, ConversionsOfAnyCountTouchNothingElse) {
  Random random(2);
  for (std::int64_t count = 0; count <= 40; ++count) {
    TestTensor wide(DType::f32, {1, count + 1});
    wide.fill(random);
    TestTensor narrow(DType::bf16, {1, count + 1});
    narrow.set(count, 42);
    kernels().to_bf16(wide.view().data<float>(), count, narrow.view().data<bf16>());
    TestTensor back(DType::f32, {1, count + 1});
    back.set(count, 42);
    kernels().to_f32(narrow.view().data<bf16>(), count, back.view().data<float>());
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(back[i], static_cast<float>(bf16(wide[i])));
    EXPECT_EQ(narrow[count], 42);
    EXPECT_EQ(back[count], 42);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Elementary, testing::ValuesIn(every_kernel_set()), kernel_set_name);

TEST(KernelSet, BestIsFirstAndTheGenericOneIsAlwaysThere) {
  const auto sets = cpu::available_kernels();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back()->name, "generic");
  EXPECT_EQ(&CpuBackend(1).kernels(), sets.front());
  for (std::size_t i = 1; i < sets.size(); ++i) EXPECT_LE(sets[i]->panel_width, sets[i - 1]->panel_width);
}

}  // namespace
}  // namespace lingbot_map::test
