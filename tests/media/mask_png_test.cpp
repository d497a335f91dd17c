#include "media/mask_png.hpp"

#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "encoders.hpp"
#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MaskPng mask(int width, int height) {
  MaskPng mask{.width = width, .height = height, .pixels = {}, .origin = "made of cheese; format 7"};
  for (const std::uint8_t sample : test::noise_image(width, height).pixels)
    if (mask.pixels.size() < static_cast<std::size_t>(width * height)) mask.pixels.push_back(sample);
  return mask;
}

class MaskPngTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "x.png";
};

TEST_F(MaskPngTest, ComesBackAsItWas) {
  const MaskPng written = mask(33, 21);
  write_mask_png(file_, written);
  EXPECT_EQ(read_mask_origin(file_), written.origin);
  EXPECT_EQ(read_mask_pixels(file_, 33, 21), written.pixels);
}

TEST_F(MaskPngTest, IsAPictureForOthers) {
  const MaskPng written = mask(5, 4);
  write_mask_png(file_, written);
  const cv::Mat read = cv::imread(file_.string(), cv::IMREAD_UNCHANGED);
  ASSERT_EQ(read.type(), CV_8UC1);
  EXPECT_EQ(std::vector<std::uint8_t>(read.begin<std::uint8_t>(), read.end<std::uint8_t>()), written.pixels);
}

TEST_F(MaskPngTest, OtherFilesHaveNoOrigin) {
  const std::string png = test::encoded(".png", test::noise_image(9, 9));
  for (const std::string& content : {std::string(), std::string("x"), png, png.substr(0, 40), std::string(500, 't')}) {
    test::write_content(file_, content);
    EXPECT_EQ(read_mask_origin(file_), std::nullopt);
  }
  test::expect_error(
      ErrorCode::input, [&] { static_cast<void>(read_mask_origin(folder_ / "no.png")); }, HasSubstr("no.png"));
}

TEST_F(MaskPngTest, RefusesDamageAndOtherSizes) {
  write_mask_png(file_, mask(33, 21));
  test::expect_error(
      ErrorCode::input, [&] { static_cast<void>(read_mask_pixels(file_, 21, 33)); },
      AllOf(HasSubstr("x.png"), HasSubstr("33 x 21"), HasSubstr("expected 21 x 33")));
  std::string content = test::content_of(file_);
  content[content.size() / 2] ^= 0x55;
  test::write_content(file_, content);
  EXPECT_NE(read_mask_origin(file_), std::nullopt);
  test::expect_error(
      ErrorCode::input, [&] { static_cast<void>(read_mask_pixels(file_, 33, 21)); }, HasSubstr("x.png"));
  content.resize(70);
  test::write_content(file_, content);
  test::expect_error(
      ErrorCode::input, [&] { static_cast<void>(read_mask_pixels(file_, 33, 21)); }, HasSubstr("x.png"));
}

TEST_F(MaskPngTest, AFullDiskLeavesNothing) {
  const test::FileSizeLimit limit(256);
  test::expect_error(
      ErrorCode::output, [&] { write_mask_png(file_, mask(64, 64)); }, HasSubstr("x.png"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace lingbot_map
