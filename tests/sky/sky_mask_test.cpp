#include "sky/sky_mask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

TEST(SkyMask, IsWhatScoresAboveTheThreshold) {
  const std::vector<float> scores = {0, 0.49F, 0.5F, 0.51F, 1, 0};
  const SkyMask mask = mask_of_scores(scores, 3, 2);
  EXPECT_THAT(mask.pixels, testing::ElementsAre(255, 255, 255, 0, 0, 255));
  EXPECT_DOUBLE_EQ(mask.share(), 2.0 / 6);
  EXPECT_EQ(SkyMask().share(), 0);
}

TEST(SkyMask, ClearsConfidence) {
  const SkyMask mask{.width = 2, .height = 1, .pixels = {SkyMask::kSky, SkyMask::kKeep}};
  std::vector<float> confidence = {4, 5};
  clear_sky(mask, confidence);
  EXPECT_THAT(confidence, testing::ElementsAre(0, 5));
  clear_sky(mask, {});
  std::vector<float> other(3);
  test::expect_error(
      ErrorCode::internal, [&] { clear_sky(mask, other); }, testing::HasSubstr("2 x 1"));
}

TEST(DigestOfFrame, DependsOnAllOfIt) {
  Image image(2, 3);
  const std::vector<float> map(6, 1.0F);
  const std::string digest = digest_of_frame(image);
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_NE(digest_of_frame(Image(3, 2)), digest);
  EXPECT_NE(digest_of_frame(image, map, map), digest);
  EXPECT_NE(digest_of_frame(image, map, std::vector<float>(6, 2.0F)), digest_of_frame(image, map, map));
  image.pixels.back() = 1;
  EXPECT_NE(digest_of_frame(image), digest);
}

}  // namespace
}  // namespace lingbot_map
