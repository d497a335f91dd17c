#include "sky/sky_estimate.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "drawn_scene.hpp"

namespace lingbot_map::test {
namespace {

SkyMask estimate_of(const DrawnScene& scene) { return estimate_sky(scene.image, scene.depth, scene.confidence); }

using Case = std::tuple<Weather, double>;
class SkyEstimate : public testing::TestWithParam<Case> {};

TEST_P(SkyEstimate, FindsADrawnSky) {
  const auto [weather, sky_depth] = GetParam();
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const DrawnScene scene = drawn_scene({.weather = weather, .sky_depth = sky_depth, .seed = seed});
    EXPECT_GT(overlap(estimate_of(scene), scene.truth), 0.95) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Weather, SkyEstimate,
                         testing::Combine(testing::Values(Weather::clear, Weather::clouds, Weather::overcast,
                                                          Weather::evening, Weather::night),
                                          testing::Values(120.0, 60.0, 30.0)));

TEST(SkyEstimate, HoldsWithoutHelpFromConfidence) {
  for (const Weather weather : {Weather::clear, Weather::clouds, Weather::overcast, Weather::night}) {
    DrawnScene scene = drawn_scene({.weather = weather});
    std::ranges::fill(scene.confidence, 1.3F);
    EXPECT_GT(overlap(estimate_of(scene), scene.truth), 0.9);
  }
}

TEST(SkyEstimate, HoldsWhereTheNetworkSetsTheSkyTooNear) {
  for (const Weather weather : {Weather::clear, Weather::clouds, Weather::overcast, Weather::night}) {
    const DrawnScene scene = drawn_scene({.weather = weather, .sky_depth = 15});
    EXPECT_GT(overlap(estimate_of(scene), scene.truth), 0.9);
  }
}

TEST(SkyEstimate, FindsNoSkyInARoom) {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U})
    EXPECT_LT(estimate_of(drawn_scene({.sky = false, .seed = seed})).share(), 0.005) << "seed " << seed;
}

TEST(SkyEstimate, TakesUnusableDepthAsFarAway) {
  for (const float depth : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    DrawnScene scene = drawn_scene({});
    for (std::size_t i = 0; i < scene.depth.size(); ++i)
      if (scene.truth.is_sky(i)) scene.depth[i] = depth;
    EXPECT_GT(overlap(estimate_of(scene), scene.truth), 0.95) << depth;
  }
}

TEST(SkyEstimate, SaysNothingWhereMapsSayNothing) {
  DrawnScene scene = drawn_scene({});
  std::ranges::fill(scene.depth, 1.0F);
  std::ranges::fill(scene.confidence, 1.5F);
  EXPECT_EQ(estimate_of(scene).share(), 0);
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(), 0.0F}) {
    std::ranges::fill(scene.depth, value);
    std::ranges::fill(scene.confidence, value);
    EXPECT_EQ(estimate_of(scene).pixels.size(), scene.truth.pixels.size());
  }
}

TEST(SkyEstimate, TakesTheSmallestFrames) {
  for (const auto& [width, height] : {std::pair(1, 1), {1, 30}, {30, 1}, {14, 14}}) {
    const Image image(width, height);
    const std::vector<float> map(image.pixels.size() / 3, 2.0F);
    EXPECT_EQ(estimate_sky(image, map, map).pixels.size(), map.size());
  }
}

}  // namespace
}  // namespace lingbot_map::test
