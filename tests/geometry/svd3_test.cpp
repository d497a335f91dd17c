#include "geometry/svd3.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lingbot_map {
namespace {

void expect_orthogonal(const Mat3& m) {
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      EXPECT_NEAR(m[a] * m[b] + m[3 + a] * m[3 + b] + m[6 + a] * m[6 + b], a == b ? 1 : 0, 1e-13);
}

void expect_decomposes(const Mat3& m) {
  const Svd3 svd = svd3(m);
  expect_orthogonal(svd.u);
  expect_orthogonal(svd.v);
  EXPECT_GE(svd.values[0], svd.values[1]);
  EXPECT_GE(svd.values[1], svd.values[2]);
  EXPECT_GE(svd.values[2], 0);
  double largest = 0;
  for (const double entry : m) largest = std::max(largest, std::abs(entry));
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      double entry = 0;
      for (int k = 0; k < 3; ++k) entry += svd.u[row * 3 + k] * svd.values[k] * svd.v[column * 3 + k];
      EXPECT_NEAR(entry, m[row * 3 + column], 1e-13 * largest) << row << ", " << column;
    }
  }
}

TEST(Svd3, DecomposesAnyMatrix) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int n = 0; n < 300; ++n) {
    Mat3 m{};
    for (double& entry : m) entry = normal(random) * std::pow(10, normal(random));
    expect_decomposes(m);
  }
}

TEST(Svd3, OfAnySizeOfNumbers) {
  for (const double scale : {1e-300, 1e-160, 1.0, 1e160, 1e300})
    expect_decomposes({scale, 2 * scale, 0, 0, scale, -scale, 3 * scale, 0, scale});
}

TEST(Svd3, OfAnyRank) {
  expect_decomposes({});
  expect_decomposes({0, 0, 0, 0, -5, 0, 0, 0, 0});
  expect_decomposes({1, 2, 3, 2, 4, 6, -1, -2, -3});
  expect_decomposes({1, 0, 0, 0, 1, 0, 0, 0, 0});
  expect_decomposes({1, 0, 0, 0, 1, 0, 0, 0, -1});
  expect_decomposes({1, 1, 1, 1, 1, 1, 1, 1, 1 + 1e-15});
}

TEST(Svd3, KnowsTheValuesOfADiagonal) { EXPECT_EQ(svd3({-2, 0, 0, 0, 7, 0, 0, 0, 3}).values, (Vec3{7, 3, 2})); }

TEST(Determinant, IsSignedVolume) { EXPECT_DOUBLE_EQ(determinant({0, 2, 0, 1, 0, 0, 0, 0, 3}), -6); }

TEST(NearestRotation, FindsTheTurnAndNeverAReflection) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int n = 0; n < 100; ++n) {
    const auto turn = rotation_from_quaternion({normal(random), normal(random), normal(random), normal(random)});
    ASSERT_TRUE(turn);
    Mat3 stretched = *turn;
    for (double& entry : stretched) entry *= 7;
    const Mat3 found = nearest_rotation(svd3(stretched));
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(found[i], (*turn)[i], 1e-13);

    Mat3 any{};
    for (double& entry : any) entry = normal(random);
    const Mat3 rotation = nearest_rotation(svd3(any));
    expect_orthogonal(rotation);
    EXPECT_NEAR(determinant(rotation), 1, 1e-13);
  }
}

}  // namespace
}  // namespace lingbot_map
