#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "encoders.hpp"
#include "expect_error.hpp"
#include "golden.hpp"
#include "media/frame_source.hpp"
#include "media/image.hpp"
#include "media/orientation.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::encoded;
using test::noise_image;
using test::TemporaryFolder;
using test::write_content;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SourceOptions kSmall{.image_size = 56, .patch_size = 14};

std::vector<SourceFrame> all_frames(FrameSource& source) {
  std::vector<SourceFrame> frames;
  while (auto frame = source.next()) frames.push_back(std::move(*frame));
  return frames;
}

TEST(ImageFolder, MixedSizesEqualThePublicLoader) {
  const std::filesystem::path data = LINGBOT_MAP_TEST_DATA;
  const TemporaryFolder folder;
  int number = 1;
  for (const char* name : {"vga.png", "wide.png", "square.jpg"}) {
    std::filesystem::copy(data / "preprocess_images" / name, folder / (message(number++, ".image.png")));
  }
  const auto source = open_image_folder(folder.path(), {.image_size = 168});
  const std::vector<Image> expected = test::Golden((data / "preprocess.safetensors").string()).images("mixed");
  EXPECT_EQ(source->width(), 168);
  EXPECT_EQ(source->height(), 168);
  EXPECT_THAT(source->warnings(), ElementsAre(HasSubstr("padded with white to 168 x 168")));
  for (const Image& image : expected) {
    const auto frame = source->next();
    ASSERT_TRUE(frame && frame->ok());
    EXPECT_EQ(frame->image.pixels, image.pixels) << frame->name;
  }
  EXPECT_FALSE(source->next());
}

TEST(ImageFolder, SkipsToAFrameAndTellsItselfFromAnotherFolder) {
  const TemporaryFolder folder;
  for (int i = 0; i < 12; ++i) write_content(folder / (message("f", i, ".png")), encoded(".png", noise_image(56, 28)));
  SourceOptions options = kSmall;
  options.stride = 3;
  const auto source = open_image_folder(folder.path(), options);
  EXPECT_TRUE(source->repeatable());
  const std::string fingerprint = source->fingerprint();
  source->skip_to(4);
  EXPECT_EQ(source->next()->source_index, 6);
  source->skip_to(0);
  EXPECT_EQ(source->next()->source_index, 9);
  source->skip_to(INT64_MAX);
  EXPECT_FALSE(source->next());
  EXPECT_EQ(open_image_folder(folder.path(), options)->fingerprint(), fingerprint);
  write_content(folder / "f1.png", "not used");
  EXPECT_EQ(open_image_folder(folder.path(), options)->fingerprint(), fingerprint);
  write_content(folder / "f3.png", encoded(".png", noise_image(56, 42)));
  EXPECT_NE(open_image_folder(folder.path(), options)->fingerprint(), fingerprint);
}

TEST(ImageFolder, FirstKThenStrideWithIndicesOfTheFolder) {
  const TemporaryFolder folder;
  for (int i = 0; i < 12; ++i) write_content(folder / (message("f", i, ".png")), encoded(".png", noise_image(56, 28)));
  SourceOptions options = kSmall;
  options.first_k = 8;
  options.stride = 3;
  const auto source = open_image_folder(folder.path(), options);
  EXPECT_EQ(source->expected_frames(), 3);
  std::vector<std::int64_t> indices;
  std::vector<std::string> names;
  for (const SourceFrame& frame : all_frames(*source)) {
    indices.push_back(frame.source_index);
    names.push_back(frame.name);
    EXPECT_FALSE(frame.timestamp);
  }
  EXPECT_THAT(indices, ElementsAre(0, 3, 6));
  EXPECT_THAT(names, ElementsAre("f0.png", "f3.png", "f6.png"));

  options.stride = std::numeric_limits<std::int64_t>::max();
  const auto one = open_image_folder(folder.path(), options);
  EXPECT_EQ(one->expected_frames(), 1);
  EXPECT_EQ(all_frames(*one).size(), 1U);
}

TEST(ImageFolder, BadFramesComeAsErrorsAndTheRestFollows) {
  const TemporaryFolder folder;
  const std::string good = encoded(".png", noise_image(56, 28));
  write_content(folder / "1.png", "");
  write_content(folder / "2.png", good);
  write_content(folder / "3.png", good.substr(0, good.size() / 2));
  write_content(folder / "4.png", "no image");
  write_content(folder / "5.png", good);
  const auto source = open_image_folder(folder.path(), kSmall);
  EXPECT_EQ(source->expected_frames(), 5);
  const std::vector<SourceFrame> frames = all_frames(*source);
  ASSERT_EQ(frames.size(), 5U);
  EXPECT_TRUE(frames[1].ok() && frames[4].ok());
  for (const std::size_t bad : {0U, 2U, 3U}) {
    EXPECT_FALSE(frames[bad].ok());
    EXPECT_TRUE(frames[bad].image.empty());
    EXPECT_EQ(frames[bad].source_index, static_cast<std::int64_t>(bad));
    EXPECT_THAT(frames[bad].error, HasSubstr((folder / frames[bad].name).string()));
  }
}

TEST(ImageFolder, FailsWhereNoFileHasAReadableHeader) {
  const TemporaryFolder folder;
  write_content(folder / "1.png", "");
  write_content(folder / "2.png", "no image");
  test::expect_error(
      ErrorCode::input, [&] { (void)open_image_folder(folder.path(), kSmall); }, HasSubstr("1.png"));
}

TEST(ImageFolder, TurnsAreOfThePixelsAsStored) {
  const TemporaryFolder folder;
  const Image stored = noise_image(60, 40);
  write_content(folder / "1.png",
                test::png_file({.width = 60, .height = 40, .samples = stored.pixels, .orientation = 3}));
  SourceOptions options = kSmall;
  options.rotate_clockwise_90 = true;
  const auto source = open_image_folder(folder.path(), options);
  const auto frame = source->next();
  ASSERT_TRUE(frame && frame->ok());
  EXPECT_EQ(frame->geometry.original_width, 40);
  EXPECT_EQ(frame->geometry.original_height, 60);
  EXPECT_EQ(frame->image.pixels, preprocess(orient(stored, kOrientationClockwise90), frame->geometry).pixels);
  EXPECT_THAT(source->warnings(), ElementsAre(HasSubstr("of the height is cropped")));
}

TEST(ImageFolder, NamesTheFilesWhosePixelsAreAsStored) {
  const std::filesystem::path data = LINGBOT_MAP_TEST_DATA;
  const TemporaryFolder folder;
  for (const char* name : {"exact.png", "exif6.jpg"})
    std::filesystem::copy(data / "preprocess_images" / name, folder / name);
  const auto upright = open_image_folder(folder.path(), kSmall);
  EXPECT_EQ(upright->next()->file, folder / "exact.png");
  EXPECT_EQ(upright->next()->file, "");  // turned by EXIF
  SourceOptions options = kSmall;
  options.rotate_clockwise_90 = true;
  const auto turned = open_image_folder(folder.path(), options);
  EXPECT_EQ(turned->next()->file, "");
}

TEST(ImageFolder, StopEndsIt) {
  const TemporaryFolder folder;
  for (const char* name : {"1.png", "2.png"}) write_content(folder / name, encoded(".png", noise_image(56, 28)));
  const auto source = open_image_folder(folder.path(), kSmall);
  EXPECT_TRUE(source->next());
  source->stop();
  EXPECT_FALSE(source->next());
}

TEST(SourceOptions, ImpossibleValuesAreUsageErrors) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double fps : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    test::expect_error(
        ErrorCode::usage, [&] { SourceOptions{.fps = fps}.validate(); }, HasSubstr("--fps"));
  }
  test::expect_error(
      ErrorCode::usage, [] { SourceOptions{.first_k = 0}.validate(); }, HasSubstr("--first_k"));
  test::expect_error(
      ErrorCode::usage, [] { SourceOptions{.stride = 0}.validate(); }, HasSubstr("--stride"));
  test::expect_error(
      ErrorCode::usage, [] { SourceOptions{.image_size = 100}.validate(); }, HasSubstr("--image_size"));
}

}  // namespace
}  // namespace lingbot_map
