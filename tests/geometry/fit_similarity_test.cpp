#include "geometry/fit_similarity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace lingbot_map {
namespace {

std::vector<WeightedPair> pairs_of(const Sim3& to_from, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> coordinate(-5, 5);
  std::uniform_real_distribution<double> weight(0.1, 3);
  std::vector<WeightedPair> pairs;
  for (int i = 0; i < count; ++i) {
    const Vec3 from = {coordinate(random), coordinate(random), coordinate(random)};
    pairs.push_back({from, to_from * from, weight(random)});
  }
  return pairs;
}

Sim3 similarity(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> number;
  const auto rotation = rotation_from_quaternion({number(random), number(random), number(random), number(random)});
  return {std::exp(number(random)), *rotation, {number(random), 10 * number(random), number(random)}};
}

void expect_near(const Sim3& a, const Sim3& b, double tolerance) {
  EXPECT_NEAR(a.scale, b.scale, tolerance * b.scale);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(a.rotation[i], b.rotation[i], tolerance);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(a.translation[i], b.translation[i], tolerance * 100);
}

TEST(FitSimilarity, FindsTheTruth) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const Sim3 truth = similarity(seed);
    const auto found = fit_similarity(pairs_of(truth, 3 + static_cast<int>(seed % 20), seed));
    ASSERT_TRUE(found);
    expect_near(*found, truth, 1e-9);
  }
}

TEST(FitSimilarity, FindsHalfTurns) {
  for (const Quaternion& q : {Quaternion{1, 0, 0, 0}, Quaternion{0, 1, 0, 0}, Quaternion{0, 0, 1, 0}}) {
    const Sim3 truth{.scale = 0.01, .rotation = *rotation_from_quaternion(q), .translation = {1e3, 0, 0}};
    expect_near(fit_similarity(pairs_of(truth, 9, 3)).value(), truth, 1e-9);
  }
}

TEST(FitSimilarity, PointsOfAPlaneAreEnough) {
  const Sim3 truth = similarity(9);
  std::vector<WeightedPair> pairs = pairs_of(truth, 12, 9);
  for (WeightedPair& pair : pairs) {
    pair.from[2] = 3;
    pair.to = truth * pair.from;
  }
  expect_near(fit_similarity(pairs).value(), truth, 1e-9);
}

TEST(FitSimilarity, WithoutWeightDoesNotCount) {
  const Sim3 truth = similarity(4);
  std::vector<WeightedPair> pairs = pairs_of(truth, 20, 4);
  for (std::size_t i = 0; i < 12; ++i) pairs[i] = {{1, 2, 3}, {-50, 70, 9}, 0};
  expect_near(fit_similarity(pairs).value(), truth, 1e-9);
}

TEST(FitSimilarity, WithoutScaleIsAMotion) {
  Sim3 truth = similarity(5);
  const PairMoments scaled = moments_of(pairs_of(truth, 20, 5));
  const Sim3 motion = fit_similarity(scaled, false).value();
  EXPECT_EQ(motion.scale, 1);
  truth.scale = 1;
  EXPECT_EQ(fit_similarity(scaled, true)->rotation, motion.rotation);
  expect_near(fit_similarity(moments_of(pairs_of(truth, 20, 5)), false).value(), truth, 1e-9);
}

TEST(FitSimilarity, LengthsMayBeVerySmallOrLarge) {
  for (const double length : {1e-120, 1e120}) {
    Sim3 truth = similarity(6);
    std::vector<WeightedPair> pairs = pairs_of(truth, 20, 6);
    for (WeightedPair& pair : pairs)
      for (std::size_t i = 0; i < 3; ++i) pair.from[i] *= length, pair.to[i] *= length;
    for (double& x : truth.translation) x *= length;
    const Sim3 found = fit_similarity(pairs).value();
    EXPECT_NEAR(found.scale, truth.scale, 1e-9 * truth.scale);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(found.rotation[i], truth.rotation[i], 1e-9);
  }
}

/// No small change of the answer makes the weighted sum of squares smaller.
TEST(FitSimilarity, IsTheLeastOfSquares) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.5);
  std::vector<WeightedPair> pairs = pairs_of(similarity(3), 40, 3);
  for (WeightedPair& pair : pairs)
    for (double& x : pair.to) x += noise(random);
  const auto cost = [&pairs](const Sim3& s) {
    double sum = 0;
    for (const WeightedPair& pair : pairs) {
      const Vec3 mapped = s * pair.from;
      for (std::size_t i = 0; i < 3; ++i) sum += pair.weight * (mapped[i] - pair.to[i]) * (mapped[i] - pair.to[i]);
    }
    return sum;
  };
  const Sim3 found = fit_similarity(pairs).value();
  for (int trial = 0; trial < 200; ++trial) {
    Sim3 other = found;
    other.scale *= 1 + 1e-3 * noise(random);
    const auto turn = rotation_from_quaternion({1e-3 * noise(random), 1e-3 * noise(random), 1e-3 * noise(random), 1});
    other.rotation = (Rigid3{*turn, {}} * Rigid3{found.rotation, {}}).rotation;
    for (double& x : other.translation) x += 1e-3 * noise(random);
    EXPECT_GE(cost(other), cost(found));
  }
}

TEST(FitSimilarity, NeedsPairsThatTell) {
  EXPECT_FALSE(fit_similarity({}));
  EXPECT_FALSE(fit_similarity(pairs_of(similarity(1), 2, 1)));
  std::vector<WeightedPair> same = {5, {{1, 2, 3}, {4, 5, 6}, 1}};
  EXPECT_FALSE(fit_similarity(same));
  std::vector<WeightedPair> weightless = pairs_of(similarity(1), 6, 1);
  for (WeightedPair& pair : weightless) pair.weight = 0;
  EXPECT_FALSE(fit_similarity(weightless));
  std::vector<WeightedPair> broken = pairs_of(similarity(1), 6, 1);
  broken[2].to[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(fit_similarity(broken));
  broken[2].to[1] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(fit_similarity(broken));
}

}  // namespace
}  // namespace lingbot_map
