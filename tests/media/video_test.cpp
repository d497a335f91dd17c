#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <opencv2/videoio.hpp>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "media/frame_source.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SourceOptions kSmall{.image_size = 56, .patch_size = 14};

/// A Motion JPEG video, each frame of one gray level: 2 * its number.
void write_video(const std::filesystem::path& path, int frames, double fps, cv::Size size = {64, 32}) {
  cv::VideoWriter writer(path.string(), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), fps, size);
  ASSERT_TRUE(writer.isOpened());
  for (int i = 0; i < frames; ++i) writer.write(cv::Mat(size, CV_8UC3, cv::Scalar::all(2 * i)));
}

struct Seen {
  std::vector<int> numbers;  ///< of the video's frames, by their gray level
  std::vector<std::int64_t> indices;
  std::vector<double> times;
};

Seen see(FrameSource& source) {
  Seen seen;
  while (const auto frame = source.next()) {
    EXPECT_TRUE(frame->ok()) << frame->error;
    seen.numbers.push_back(static_cast<int>(std::lround(frame->image.pixels[0] / 2.0)));
    seen.indices.push_back(frame->source_index);
    seen.times.push_back(frame->timestamp.value_or(-1));
  }
  return seen;
}

TEST(Video, ThirtyToTenIsEveryThird) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 31, 30);
  const auto source = open_video((folder / "v.avi").string(), kSmall);
  EXPECT_EQ(source->width(), 56);
  EXPECT_EQ(source->height(), 28);
  EXPECT_EQ(source->expected_frames(), 11);
  const Seen seen = see(*source);
  EXPECT_THAT(seen.numbers, ElementsAre(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30));
  for (std::size_t i = 0; i < seen.times.size(); ++i) EXPECT_NEAR(seen.times[i], 0.1 * static_cast<double>(i), 1e-3);
  EXPECT_TRUE(source->warnings().empty());
}

TEST(Video, ThirtyToTwelveIsTwelveASecond) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 60, 30);
  SourceOptions options = kSmall;
  options.fps = 12;
  const auto source = open_video((folder / "v.avi").string(), options);
  EXPECT_EQ(source->expected_frames(), 24);
  const Seen seen = see(*source);
  EXPECT_EQ(seen.numbers.size(), 24U);
  for (std::size_t i = 0; i < seen.numbers.size(); ++i) EXPECT_NEAR(seen.times[i], seen.numbers[i] / 30.0, 1e-3);
}

TEST(Video, FirstKThenStrideOverTheSampledFrames) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 60, 30);
  SourceOptions options = kSmall;
  options.first_k = 8;
  options.stride = 3;
  const auto source = open_video((folder / "v.avi").string(), options);
  EXPECT_EQ(source->expected_frames(), 3);
  const Seen seen = see(*source);
  EXPECT_THAT(seen.indices, ElementsAre(0, 3, 6));
  EXPECT_THAT(seen.numbers, ElementsAre(0, 9, 18));
}

TEST(Video, NeverMoreFramesThanThereAre) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 20, 10);
  SourceOptions options = kSmall;
  options.fps = 60;
  const auto source = open_video((folder / "v.avi").string(), options);
  EXPECT_EQ(source->expected_frames(), 20);
  EXPECT_EQ(see(*source).numbers.size(), 20U);
}

TEST(Video, RotationTurnsTheFrames) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 3, 10, {64, 32});
  SourceOptions options = kSmall;
  options.rotate_clockwise_90 = true;
  const auto source = open_video((folder / "v.avi").string(), options);
  const auto frame = source->next();
  ASSERT_TRUE(frame && frame->ok());
  EXPECT_EQ(frame->geometry.original_width, 32);
  EXPECT_EQ(frame->geometry.original_height, 64);
  EXPECT_THAT(source->warnings(), ElementsAre(AllOf(HasSubstr("v.avi (32 x 64)"), HasSubstr("50 % of the height"))));
}

TEST(Video, StopEndsIt) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 20, 10);
  const auto source = open_video((folder / "v.avi").string(), kSmall);
  EXPECT_TRUE(source->next());
  source->stop();
  EXPECT_FALSE(source->next());
  EXPECT_TRUE(source->warnings().empty());
}

TEST(Video, CutOffVideosEndWithAWarning) {
  const TemporaryFolder folder;
  write_video(folder / "v.avi", 60, 30);
  const std::string whole = test::content_of(folder / "v.avi");
  test::write_content(folder / "cut.avi", whole.substr(0, whole.size() / 2));
  const auto source = open_video((folder / "cut.avi").string(), kSmall);
  const std::size_t frames = see(*source).numbers.size();
  EXPECT_GT(frames, 5U);
  EXPECT_LT(frames, 15U);
  EXPECT_THAT(source->warnings(), ElementsAre(AllOf(HasSubstr("cut.avi"), HasSubstr("announces 60"))));
  EXPECT_FALSE(source->next());
  EXPECT_EQ(source->warnings().size(), 1U);
}

TEST(Video, WhatIsNoVideoIsNamed) {
  const TemporaryFolder folder;
  auto expect_refusal = [&](const std::string& name, const std::string& part) {
    test::expect_error(
        ErrorCode::input, [&] { (void)open_video((folder / name).string(), kSmall); },
        AllOf(HasSubstr(name), HasSubstr(part)));
  };
  expect_refusal("gone.mp4", "gone.mp4");
  test::write_content(folder / "zero.mp4", "");
  expect_refusal("zero.mp4", "empty");
  test::write_content(folder / "page.mp4", "<!DOCTYPE html><html><body>Not found</body></html>");
  expect_refusal("page.mp4", "cannot be opened as a video");
  std::filesystem::create_directory(folder / "frames");
  expect_refusal("frames", "--image_folder");
  write_video(folder / "v.avi", 5, 10);
  test::write_content(folder / "head.avi", test::content_of(folder / "v.avi").substr(0, 300));
  expect_refusal("head.avi", "video");
}

TEST(Video, ACameraThatIsNotThereIsNamed) {
  test::expect_error(
      ErrorCode::input, [] { (void)open_video("97", kSmall); }, HasSubstr("camera 97"));
}

TEST(Video, OptionsAreCheckedFirst) {
  test::expect_error(
      ErrorCode::usage, [] { (void)open_video("gone.mp4", {.fps = 0}); }, HasSubstr("--fps"));
}

}  // namespace
}  // namespace lingbot_map
