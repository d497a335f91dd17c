#include "model/positions.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lingbot_map {
namespace {

TEST(ResizePositions, OfTheSameSizeIsTheIdentity) {
  std::vector<float> trained(5 * 5 * 3);
  for (std::size_t i = 0; i < trained.size(); ++i) trained[i] = std::sin(static_cast<float>(i));
  EXPECT_EQ(resize_positions(trained, 5, 3, 5, 5), trained);
}

TEST(ResizePositions, KeepsAConstantAndMirrors) {
  const std::vector<float> constant(std::size_t{7} * 7, 3.5F);
  for (const float value : resize_positions(constant, 7, 1, 4, 11)) EXPECT_FLOAT_EQ(value, 3.5F);
  std::vector<float> ramp;
  for (int r = 0; r < 7; ++r) {
    for (int c = 0; c < 7; ++c) ramp.push_back(static_cast<float>(c));
  }
  const auto resized = resize_positions(ramp, 7, 1, 3, 5);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(resized[r * 5 + c] + resized[r * 5 + 4 - c], 6.0F, 1e-5F);
  }
}

TEST(ResizePositions, OneAxisAloneLeavesTheOtherAsItWas) {
  std::vector<float> trained;
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 6; ++c) trained.push_back(static_cast<float>(r));
  }
  const auto resized = resize_positions(trained, 6, 1, 6, 3);
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(resized[r * 3 + c], static_cast<float>(r));
  }
}

TEST(PositionCode, IsSineThenCosineOfTheSpanTimesATenth) {
  const PositionCode code = position_code(3, 2, 16, 4.0 / 3.0);
  ASSERT_EQ(code.columns.size(), std::size_t{3} * 8);
  ASSERT_EQ(code.rows.size(), std::size_t{2} * 8);
  const double span_x = 0.8;
  const double span_y = 0.6;
  const double left = -span_x * 2 / 3;
  const double top = -span_y / 2;
  for (int j = 0; j < 4; ++j) {
    const double frequency = std::pow(100.0, -j / 4.0);
    EXPECT_NEAR(code.columns[static_cast<std::size_t>(j)], 0.1 * std::sin(left * frequency), 1e-7);
    EXPECT_NEAR(code.columns[static_cast<std::size_t>(4 + j)], 0.1 * std::cos(left * frequency), 1e-7);
    EXPECT_NEAR(code.columns[static_cast<std::size_t>(8 + j)], 0.0, 1e-7) << "the middle column";
    EXPECT_NEAR(code.rows[static_cast<std::size_t>(j)], 0.1 * std::sin(top * frequency), 1e-7);
  }
}

TEST(Rotary, SpecialTokensOfTheFrameBlocksStandStill) {
  const FrameGrid grid(Config::tiny(), 84, 56);
  const auto table = rotary_2d(grid);
  ASSERT_EQ(table.size(), static_cast<std::size_t>(grid.tokens()) * 64);
  for (std::size_t i = 0; i < 6 * 32; ++i) {
    EXPECT_EQ(table[2 * i], 1.0F);
    EXPECT_EQ(table[2 * i + 1], 0.0F);
  }
  const std::size_t patch = 6 + 1 * 6 + 2;  // row 1, column 2
  EXPECT_NEAR(table[patch * 64], std::cos(2.0), 1e-7);
  EXPECT_NEAR(table[patch * 64 + 32], std::cos(3.0), 1e-7) << "the column's pairs follow the row's";
  EXPECT_NEAR(table[patch * 64 + 33], std::sin(3.0), 1e-7);
  EXPECT_NEAR(table[patch * 64 + 34], std::cos(3.0 * std::pow(100.0, -1.0 / 16)), 1e-7);
}

TEST(Rotary, GlobalBlocksTurnWithRowAndColumnPastTheSpecialTokens) {
  const FrameGrid grid(Config::tiny(), 84, 56);
  const auto table = rotary_3d_spatial(grid);
  ASSERT_EQ(table.size(), static_cast<std::size_t>(grid.tokens()) * 44);
  for (std::size_t s = 0; s < 6; ++s) EXPECT_NEAR(table[s * 44 + 1], std::sin(static_cast<double>(s)), 1e-7);
  EXPECT_NEAR(table[6 * 44], std::cos(6.0), 1e-7);
  const std::size_t patch = 6 + 1 * 6 + 2;
  EXPECT_NEAR(table[patch * 44], std::cos(7.0), 1e-7);
  EXPECT_NEAR(table[patch * 44 + 22], std::cos(8.0), 1e-7);
}

/// No table, no last frame: the angle of frame ten million is as exact as that of frame ten.
TEST(Rotary, TimeHasNoEnd) {
  for (const std::int64_t frame : {0LL, 1023LL, 1024LL, 100'000LL, 10'000'000LL}) {
    const auto table = rotary_3d_temporal(frame, 2);
    ASSERT_EQ(table.size(), 40U);
    for (int i = 0; i < 10; ++i) {
      const long double angle = static_cast<long double>(frame + 1) * std::pow(10000.0L, -2.0L * i / 20);
      EXPECT_NEAR(table[static_cast<std::size_t>(20 + 2 * i)], static_cast<double>(std::cos(angle)), 2e-7) << frame;
      EXPECT_NEAR(table[static_cast<std::size_t>(20 + 2 * i + 1)], static_cast<double>(std::sin(angle)), 2e-7) << frame;
    }
  }
}

TEST(Rotary, TheCameraHeadTurnsWithTimeAlone) {
  const auto table = rotary_camera(5, 1);
  ASSERT_EQ(table.size(), 128U);
  EXPECT_NEAR(table[1], std::sin(5.0), 1e-7);
  for (std::size_t i = 20; i < 64; ++i) EXPECT_EQ(table[2 * i], 1.0F);
}

}  // namespace
}  // namespace lingbot_map
