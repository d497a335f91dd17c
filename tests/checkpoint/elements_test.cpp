#include "checkpoint/elements.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/bf16.hpp"
#include "lingbot_map/error.hpp"

namespace lingbot_map {
namespace {

using testing::ElementsAre;

template <typename T>
std::vector<float> converted(DType dtype, const std::vector<T>& values) {
  std::vector<float> out(values.size());
  convert_to_float(dtype, std::as_bytes(std::span(values)), out);
  return out;
}

TEST(Elements, CountsWithoutOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const auto count = [](std::vector<std::int64_t> shape) { return element_count(shape); };
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({2, 3, 4}), 24);
  EXPECT_EQ(count({5, 0, 7}), 0);
  EXPECT_EQ(count({std::int64_t{1} << 24, std::int64_t{1} << 24}), std::int64_t{1} << 48);
  EXPECT_EQ(count({std::int64_t{1} << 24, (std::int64_t{1} << 24) + 1}), std::nullopt);
  EXPECT_EQ(count({-1}), std::nullopt);
  EXPECT_EQ(count({-1, -1}), std::nullopt);
  EXPECT_EQ(count({kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(count({0, kHuge}), std::nullopt);
}

TEST(Elements, EveryHalfBecomesItsFloat) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const std::vector<float> floats = converted(DType::f16, halves);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const float expected = half_to_float(halves[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(floats[i])) << i;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(expected)) << i;
    }
  }
}

TEST(Elements, DoublesPastTheRangeOfFloatBecomeInfinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(converted<double>(DType::f64, {0.1, 1e300, -1e300}), ElementsAre(0.1F, kInfinity, -kInfinity));
}

TEST(Elements, FloatsAreRoundedToTheNearestOfTwoBytes) {
  const std::vector<float> values = {1.0F, -2.5F, 1.00390625F, 65504.0F};
  std::vector<std::uint16_t> out(values.size());
  convert_from_float(values, DType::bf16, std::as_writable_bytes(std::span(out)));
  EXPECT_THAT(out, ElementsAre(0x3f80, 0xc020, 0x3f80, 0x4780));
  convert_from_float(values, DType::f16, std::as_writable_bytes(std::span(out)));
  EXPECT_THAT(out, ElementsAre(0x3c00, 0xc100, 0x3c04, 0x7bff));
}

TEST(Elements, LongTensorsAreReadInPieces) {
  std::vector<std::int16_t> stored(1'000'000);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::int16_t>(i * 7);
  const auto bytes = std::as_bytes(std::span(stored));
  std::size_t largest = 0;
  std::vector<float> out(stored.size());
  read_elements(
      DType::i16,
      [&](std::uint64_t offset, std::span<std::byte> piece) {
        largest = std::max(largest, piece.size());
        std::ranges::copy(bytes.subspan(offset, piece.size()), piece.begin());
      },
      out);
  for (std::size_t i = 0; i < stored.size(); ++i) ASSERT_EQ(out[i], stored[i]) << i;
  EXPECT_LT(largest, bytes.size());
}

TEST(Elements, SizesThatDoNotMatchAreADefect) {
  std::vector<float> out(2);
  const std::vector<std::byte> bytes(7);
  EXPECT_THROW(convert_to_float(DType::f32, bytes, out), Error);
  std::vector<std::byte> written(7);
  EXPECT_THROW(convert_from_float(out, DType::f16, written), Error);
}

}  // namespace
}  // namespace lingbot_map
