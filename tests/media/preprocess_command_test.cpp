#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <opencv2/videoio.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "encoders.hpp"
#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "golden.hpp"
#include "media/image.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::TemporaryFolder;
using test::write_content;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs `preprocess` with these words, as the program does.
void preprocess(std::vector<std::string> words) {
  CLI::App app;
  tool::add_preprocess(app);
  words.insert(words.begin(), "preprocess");
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  app.parse(words);
}

class PreprocessCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "in");
    write_content(folder_ / "in/2.png", good_);
    write_content(folder_ / "in/10.png", good_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const std::string good_ = test::encoded(".png", test::noise_image(56, 28));
  TemporaryFolder folder_;
};

TEST_F(PreprocessCommand, WritesTheGoldenFrames) {
  const std::filesystem::path data = LINGBOT_MAP_TEST_DATA;
  std::filesystem::create_directory(folder_ / "one");
  std::filesystem::copy(data / "preprocess_images/vga.png", folder_ / "one/vga.png");
  for (const std::string mode : {"crop", "pad"}) {
    preprocess(
        {"--image_folder", path("one"), "--image_size", "168", "--preprocess_mode", mode, "--output", path(mode)});
    test::Golden golden((data / "preprocess.safetensors").string());
    const auto pixels = golden.bytes(mode + "/vga.png");
    const std::string npy = content_of(folder_ / (mode + "/000000.npy"));
    ASSERT_GT(npy.size(), pixels.size());
    EXPECT_THAT(npy, HasSubstr("'descr': '|u1', 'fortran_order': False, 'shape': (3, " +
                               std::to_string(golden.shape(mode + "/vga.png")[1]) + ", 168, "));
    EXPECT_EQ(npy.substr(npy.size() - pixels.size()), test::as_text(pixels));
    const Image png = decode_image(folder_ / (mode + "/000000.png"));
    EXPECT_EQ(png.pixels[0], pixels[0]);
  }
}

TEST_F(PreprocessCommand, NumbersWhatIsWrittenInInputOrder) {
  write_content(folder_ / "in/1.png", "broken");
  preprocess({"--image-folder", path("in"), "--image-size", "56", "--skip-bad-frames", "--output", path("out")});
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/000001.png"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/000002.png"));
}

TEST_F(PreprocessCommand, ABadFrameIsAnErrorThatNamesIt) {
  write_content(folder_ / "in/3.png", good_.substr(0, 500));
  test::expect_error(
      ErrorCode::input,
      [&] {
        preprocess({"--image_folder", path("in"), "--image_size", "56", "--output", path("out")});
      },
      AllOf(HasSubstr("in/3.png"), HasSubstr("--skip_bad_frames")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/000000.png"));
}

TEST_F(PreprocessCommand, TakesSomeOfTheFrames) {
  for (int i = 20; i < 25; ++i) write_content(folder_ / ("in/" + std::to_string(i) + ".png"), good_);
  const auto frames = [&](const std::vector<std::string>& more) {
    std::filesystem::remove_all(folder_ / "out");
    std::vector<std::string> words = {"--image_folder", path("in"), "--image_size", "56", "--output", path("out")};
    words.insert(words.end(), more.begin(), more.end());
    preprocess(words);
    return std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}) / 2;
  };
  EXPECT_EQ(frames({}), 7);
  EXPECT_EQ(frames({"--first_k", "5"}), 5);
  EXPECT_EQ(frames({"--stride", "3"}), 3);
  EXPECT_EQ(frames({"--first_k", "5", "--stride", "3"}), 2);
}

TEST_F(PreprocessCommand, SidesAreMultiplesOfThePatch) {
  const auto size = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--image_folder", path("in"), "--image_size", "48", "--output", path("out")};
    words.insert(words.end(), more.begin(), more.end());
    preprocess(words);
    const Image image = decode_image(folder_ / "out/000000.png");
    return std::pair(image.width, image.height);
  };
  EXPECT_EQ(size({"--patch_size", "8"}), std::pair(48, 24));
  EXPECT_EQ(size({"--patch_size", "16"}), std::pair(48, 32));
}

TEST_F(PreprocessCommand, TurnsPicturesBeforeAnythingElse) {
  preprocess({"--image_folder", path("in"), "--image_size", "28", "--rotate_clockwise_90", "--output", path("out"),
              "--preprocess_mode", "crop"});
  const Image turned = decode_image(folder_ / "out/000000.png");
  const Image stored = test::noise_image(56, 28);
  ASSERT_EQ(turned.width, 28);
  ASSERT_EQ(turned.height, 28) << "the middle of 56 rows";
  for (int row = 0; row < 28; ++row)
    for (int column = 0; column < 28; ++column)
      EXPECT_EQ(turned.pixels[static_cast<std::size_t>(3 * (row * 28 + column))],
                stored.pixels[static_cast<std::size_t>(3 * ((27 - column) * 56 + row + 14))]);
}

TEST_F(PreprocessCommand, AVideoIsSampledInTime) {
  {
    cv::VideoWriter writer(path("v.avi"), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 30, {64, 32});
    ASSERT_TRUE(writer.isOpened());
    for (int i = 0; i < 30; ++i) writer.write(cv::Mat(32, 64, CV_8UC3, cv::Scalar::all(2 * i)));
  }
  for (const auto& [fps, last] : {std::pair{"5", "000004.png"}, std::pair{"15", "000014.png"}}) {
    std::filesystem::remove_all(folder_ / "out");
    preprocess({"--video_path", path("v.avi"), "--fps", fps, "--image_size", "56", "--output", path("out")});
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / last)) << fps;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}),
              std::string(fps) == "5" ? 10 : 30);
  }
}

TEST_F(PreprocessCommand, OutputThatCannotBeWritten) {
  const std::vector<std::string> input = {"--image_folder", path("in"), "--image_size", "56", "--output"};
  auto run_into = [&](const std::string& output) {
    auto words = input;
    words.push_back(output);
    preprocess(words);
  };
  write_content(folder_ / "file", "x");
  test::expect_error(
      ErrorCode::output, [&] { run_into(path("file")); }, HasSubstr("file: the output folder"));
  test::expect_error(
      ErrorCode::output, [&] { run_into(path("file/below")); }, HasSubstr("below"));
  const test::FileSizeLimit full(1000);
  test::expect_error(
      ErrorCode::output, [&] { run_into(path("full")); }, HasSubstr("000000.npy"));
}

TEST_F(PreprocessCommand, WrongUsage) {
  test::expect_error(
      ErrorCode::usage,
      [&] {
        preprocess({"--output", path("out")});
      },
      HasSubstr("--image_folder"));
  test::expect_error(
      ErrorCode::usage,
      [&] {
        preprocess({"--image_folder", path("in"), "--video_path", "v.mp4", "--output", path("out")});
      },
      HasSubstr("one of"));
  test::expect_error(
      ErrorCode::usage,
      [&] {
        preprocess({"--image_folder", path("in"), "--image_size", "100", "--output", path("out")});
      },
      HasSubstr("multiple of the patch size"));
  for (const auto& [flag, value] : {std::pair{"--fps", "0"}, std::pair{"--first_k", "0"}, std::pair{"--stride", "-1"},
                                    std::pair{"--patch_size", "0"}})
    test::expect_error(
        ErrorCode::usage,
        [&] {
          preprocess({"--image_folder", path("in"), "--output", path("out"), flag, value});
        },
        HasSubstr(std::string(flag).substr(2)));
  EXPECT_THROW(preprocess({"--image_folder", path("in"), "--preprocess_mode", "squash", "--output", path("out")}),
               CLI::ValidationError);
  EXPECT_THROW(preprocess({"--image_folder", path("in")}), CLI::RequiredError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace lingbot_map
