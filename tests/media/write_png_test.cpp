#include "media/write_png.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <vector>

#include "encoders.hpp"
#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "media/image.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(WritePng, ComesBackAsItWas) {
  const test::TemporaryFolder folder;
  const Image image = test::noise_image(33, 21);
  write_png(folder / "x.png", image);
  EXPECT_EQ(decode_image(folder / "x.png").pixels, image.pixels);
}

TEST(WritePng, EightBitGray) {
  const test::TemporaryFolder folder;
  const std::vector<std::uint8_t> pixels = {0, 1, 100, 254, 255, 7};
  write_png8(folder / "x.png", 3, 2, pixels);
  const cv::Mat read = cv::imread((folder / "x.png").string(), cv::IMREAD_UNCHANGED);
  ASSERT_EQ(read.type(), CV_8UC1);
  ASSERT_EQ(read.size(), cv::Size(3, 2));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(read.at<std::uint8_t>(i / 3, i % 3), pixels[static_cast<std::size_t>(i)]);
}

TEST(WritePng, SixteenBits) {
  const test::TemporaryFolder folder;
  const std::vector<std::uint16_t> pixels = {0, 1, 255, 256, 1000, 65535};
  write_png16(folder / "x.png", 3, 2, pixels);
  const cv::Mat read = cv::imread((folder / "x.png").string(), cv::IMREAD_UNCHANGED);
  ASSERT_EQ(read.type(), CV_16UC1);
  EXPECT_EQ(std::vector<std::uint16_t>(read.begin<std::uint16_t>(), read.end<std::uint16_t>()), pixels);
}

TEST(Gray16, ComesBackAsItWas) {
  const test::TemporaryFolder folder;
  const std::vector<std::uint16_t> pixels = {0, 1, 255, 256, 1000, 65535};
  write_png16(folder / "x.png", 3, 2, pixels);
  const Gray16 read = decode_gray16(folder / "x.png");
  EXPECT_EQ(read.width, 3);
  EXPECT_EQ(read.height, 2);
  EXPECT_EQ(read.pixels, pixels);
}

TEST(Gray16, OfOtherFilesIsRefused) {
  const test::TemporaryFolder folder;
  const auto refused = [&](const char* name, const char* text) {
    test::expect_error(
        ErrorCode::input, [&] { (void)decode_gray16(folder / name); }, AllOf(HasSubstr(name), HasSubstr(text)));
  };
  write_png(folder / "rgb.png", test::noise_image(8, 8));
  refused("rgb.png", "found a PNG of another kind, expected 16-bit gray");
  write_png16(folder / "x.png", 64, 64, std::vector<std::uint16_t>(64 * 64, 12345));
  const std::string whole = test::content_of(folder / "x.png");
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    test::write_content(folder / "cut.png", whole.substr(0, bytes));
    refused("cut.png", "");
  }
  test::write_content(folder / "text.png", "P5 2 2 255 abcd");
  refused("text.png", "found PNM, expected a 16-bit gray PNG");
  refused("absent.png", "");
}

TEST(WritePng, FailuresNameTheFile) {
  const test::TemporaryFolder folder;
  const Image image = test::noise_image(64, 64);
  test::expect_error(
      ErrorCode::output, [&] { write_png(folder.path() / "no" / "x.png", image); }, HasSubstr("x.png"));
  std::filesystem::create_directory(folder / "y.png");
  test::expect_error(
      ErrorCode::output, [&] { write_png(folder / "y.png", image); }, HasSubstr("y.png"));
  const test::FileSizeLimit limit(4096);
  test::expect_error(
      ErrorCode::output, [&] { write_png(folder / "z.png", image); }, HasSubstr("z.png"));
  EXPECT_FALSE(std::filesystem::exists(folder / "z.png"));
}

}  // namespace
}  // namespace lingbot_map
