#include "media/preprocess.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "encoders.hpp"
#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr PreprocessOptions kCrop{.image_size = 518, .patch_size = 14, .mode = PreprocessMode::crop};
constexpr PreprocessOptions kPad{.image_size = 518, .patch_size = 14, .mode = PreprocessMode::pad};

TEST(PlanPreprocess, UsualSizes) {
  EXPECT_EQ(plan_preprocess({640, 480}, kCrop).height, 392);
  EXPECT_EQ(plan_preprocess({1920, 1080}, kCrop).height, 294);
  EXPECT_EQ(plan_preprocess({1920, 1400}, kCrop).height, 378);
  EXPECT_EQ(plan_preprocess({640, 480}, kCrop).width, 518);
}

TEST(PlanPreprocess, PortraitIsCutInTheMiddle) {
  const PreprocessGeometry geometry = plan_preprocess({1080, 1920}, kCrop);
  EXPECT_EQ(geometry, (PreprocessGeometry{1080, 1920, 518, 924, 0, -203, 518, 518}));
  EXPECT_NEAR(geometry.cropped_share(), 0.44, 0.001);
}

TEST(PlanPreprocess, PadKeepsAll) {
  EXPECT_EQ(plan_preprocess({1080, 1920}, kPad), (PreprocessGeometry{1080, 1920, 294, 518, 112, 0, 518, 518}));
  EXPECT_EQ(plan_preprocess({1920, 1080}, kPad), (PreprocessGeometry{1920, 1080, 518, 294, 0, 112, 518, 518}));
}

TEST(PlanPreprocess, HalvesRoundToEvenPatches) {
  constexpr PreprocessOptions options{.image_size = 28, .patch_size = 14};
  EXPECT_EQ(plan_preprocess({28, 21}, options).resized_height, 28);  // 1.5 patches
  EXPECT_EQ(plan_preprocess({28, 35}, options).resized_height, 28);  // 2.5 patches
  EXPECT_EQ(plan_preprocess({28, 49}, options).resized_height, 56);  // 3.5 patches
}

TEST(PlanPreprocess, RefusesSlivers) {
  test::expect_error(
      ErrorCode::input,
      [] {
        (void)plan_preprocess({10000, 3}, kCrop);
      },
      AllOf(HasSubstr("10000 x 3"), HasSubstr("too long and thin")));
  test::expect_error(
      ErrorCode::input,
      [] {
        (void)plan_preprocess({3, 10000}, kPad);
      },
      HasSubstr("3 x 10000"));
}

TEST(PlanPreprocess, ATallSliverCostsNoMoreThanWhatIsKept) {
  const Image image = test::noise_image(1, 40000);
  const Image frame = preprocess(image, plan_preprocess({1, 40000}, kCrop));
  EXPECT_EQ(frame.width, 518);
  EXPECT_EQ(frame.height, 518);
}

TEST(PreprocessOptions, RefusesWhatIsNoMultiple) {
  for (const int size : {0, -14, 13, 519, 16394, std::numeric_limits<int>::max()}) {
    test::expect_error(
        ErrorCode::usage, [&] { PreprocessOptions{.image_size = size}.validate(); },
        AllOf(HasSubstr("--image_size"), HasSubstr(std::to_string(size)), HasSubstr("14")));
  }
  test::expect_error(
      ErrorCode::usage, [] { PreprocessOptions{.patch_size = 0}.validate(); }, HasSubstr("--patch_size"));
  PreprocessOptions{.image_size = 252}.validate();
}

TEST(PreprocessGeometry, CentreOfTheFrameIsCentreOfTheOriginal) {
  for (const ImageSize size : {ImageSize{640, 480}, ImageSize{1080, 1920}, ImageSize{333, 777}}) {
    for (const PreprocessOptions& options : {kCrop, kPad}) {
      const PreprocessGeometry geometry = plan_preprocess(size, options);
      const Intrinsics processed{.fx = 400, .fy = 400, .cx = geometry.width / 2.0, .cy = geometry.height / 2.0};
      const Intrinsics original = in_original_pixels(processed, geometry.original_pixels());
      // An odd number of cut or padded rows puts it half a pixel away.
      EXPECT_NEAR(original.cx, size.width / 2.0, 0.51 * size.width / geometry.resized_width);
      EXPECT_NEAR(original.cy, size.height / 2.0, 0.51 * size.height / geometry.resized_height);
      EXPECT_DOUBLE_EQ(original.fx, 400.0 * size.width / geometry.resized_width);
      EXPECT_DOUBLE_EQ(original.fy, 400.0 * size.height / geometry.resized_height);
    }
  }
}

TEST(PreprocessGeometry, WidenedFramesKeepTheirPixels) {
  const Image image = test::noise_image(100, 60);
  constexpr PreprocessOptions options{.image_size = 56, .patch_size = 14};
  const PreprocessGeometry alone = plan_preprocess({100, 60}, options);
  const PreprocessGeometry wide = widen(alone, 56, 49);
  EXPECT_EQ(alone.height, 28);
  EXPECT_EQ(wide.offset_y, 10);
  const Image frame = preprocess(image, alone);
  const Image padded = preprocess(image, wide);
  const std::size_t row = 56 * 3;
  EXPECT_TRUE(std::equal(frame.pixels.begin(), frame.pixels.end(), padded.pixels.begin() + 10 * row));
  EXPECT_EQ(std::count(padded.pixels.begin(), padded.pixels.begin() + 10 * row, 255), 10 * row);
  EXPECT_EQ(std::count(padded.pixels.begin() + 38 * row, padded.pixels.end(), 255), 11 * row);
}

TEST(PlanSizes, OneShapeNeedsNoWarning) {
  const std::vector<NamedSize> images = {{"a.png", {640, 480}}, {"b.png", {320, 240}}};
  const SizePlan plan = plan_sizes(images, kCrop);
  EXPECT_EQ(plan.width, 518);
  EXPECT_EQ(plan.height, 392);
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(PlanSizes, SaysWhatIsPaddedAndCropped) {
  const std::vector<NamedSize> images = {{"a.png", {640, 480}}, {"b.png", {480, 640}}, {"c.png", {1080, 1920}}};
  const SizePlan plan = plan_sizes(images, kCrop);
  EXPECT_EQ(plan.height, 518);
  EXPECT_THAT(plan.warnings, ElementsAre(AllOf(HasSubstr("518 x 392"), HasSubstr("padded with white to 518 x 518")),
                                         AllOf(HasSubstr("c.png (1080 x 1920): 44 % of the height is cropped"),
                                               HasSubstr("1 more"), HasSubstr("--preprocess_mode pad keeps it"))));
  EXPECT_TRUE(plan_sizes(images, kPad).warnings.empty());
}

TEST(PlanSizes, LeavesOutWhatCannotBePreprocessed) {
  const std::vector<NamedSize> images = {{"thin.png", {10000, 3}}, {"b.png", {640, 480}}};
  EXPECT_EQ(plan_sizes(images, kCrop).height, 392);
  test::expect_error(
      ErrorCode::input, [&] { (void)plan_sizes(std::span(images).first(1), kCrop); },
      AllOf(HasSubstr("thin.png"), HasSubstr("too long and thin")));
}

}  // namespace
}  // namespace lingbot_map
