#include "media/image.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "encoders.hpp"
#include "expect_error.hpp"
#include "media/orientation.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::as_text;
using test::encoded;
using test::noise_image;
using test::png_file;
using test::PngParts;
using test::TemporaryFolder;
using test::write_content;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DecodeImage : public ::testing::Test {
 protected:
  std::filesystem::path store(const std::string& name, std::string_view content) const {
    write_content(folder_ / name, content);
    return folder_ / name;
  }
  Image decode(const std::string& name, std::string_view content) const { return decode_image(store(name, content)); }

  TemporaryFolder folder_;
};

std::vector<std::uint8_t> pixel(const Image& image, int x, int y) {
  const std::size_t at =
      (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x)) * 3;
  return {image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]};
}

TEST_F(DecodeImage, LosslessFormatsKeepEveryPixel) {
  const Image image = noise_image(19, 13);
  for (const char* extension : {".png", ".bmp", ".tiff", ".ppm"}) {
    const Image decoded = decode(std::string("x") + extension, encoded(extension, image));
    EXPECT_EQ(decoded.width, 19);
    EXPECT_EQ(decoded.height, 13);
    EXPECT_EQ(decoded.pixels, image.pixels) << extension;
  }
  EXPECT_EQ(decode("x.webp", encoded(".webp", image, {cv::IMWRITE_WEBP_QUALITY, 101})).pixels, image.pixels);
}

TEST_F(DecodeImage, ReadsByContentNotByName) {
  const Image image = noise_image(5, 4);
  EXPECT_EQ(decode("x.jpg", encoded(".png", image)).pixels, image.pixels);
}

TEST_F(DecodeImage, Interlaced) {
  const Image image = noise_image(21, 17);
  EXPECT_EQ(decode("x.png", png_file({.width = 21, .height = 17, .samples = image.pixels, .interlaced = true})).pixels,
            image.pixels);
}

TEST_F(DecodeImage, SixteenBitsAreScaledAndRounded) {
  std::vector<std::uint8_t> gray;
  std::vector<int> expected;
  for (const int value : {0, 128, 129, 257, 385, 386, 1000, 32767, 65406, 65407, 65535}) {
    gray.push_back(static_cast<std::uint8_t>(value >> 8));
    gray.push_back(static_cast<std::uint8_t>(value & 255));
    expected.push_back(static_cast<int>(std::lround(value / 257.0)));
  }
  const int width = static_cast<int>(expected.size());
  const Image decoded = decode(
      "x.png",
      png_file({.width = width, .height = 1, .bit_depth = 16, .color_type = PNG_COLOR_TYPE_GRAY, .samples = gray}));
  for (int x = 0; x < width; ++x) {
    const auto sample = static_cast<std::uint8_t>(expected[static_cast<std::size_t>(x)]);
    EXPECT_EQ(pixel(decoded, x, 0), (std::vector<std::uint8_t>{sample, sample, sample})) << x;
  }
  std::vector<std::uint8_t> rgb = {0x12, 0x34, 0xff, 0xff, 0x00, 0x81};
  EXPECT_EQ(pixel(decode("y.png", png_file({.width = 1, .height = 1, .bit_depth = 16, .samples = rgb})), 0, 0),
            (std::vector<std::uint8_t>{18, 255, 1}));
  cv::Mat mat(1, 1, CV_16UC3, cv::Scalar(129, 65535, 0x1234));
  EXPECT_EQ(pixel(decode("z.tiff", encoded(".tiff", mat)), 0, 0), (std::vector<std::uint8_t>{18, 255, 1}));
}

TEST_F(DecodeImage, RgbaStandsOnWhite) {
  const PngParts parts{.width = 4,
                       .height = 1,
                       .color_type = PNG_COLOR_TYPE_RGB_ALPHA,
                       .samples = {10, 20, 30, 0, 10, 20, 30, 255, 0, 100, 200, 128, 255, 255, 255, 7}};
  const Image decoded = decode("x.png", png_file(parts));
  EXPECT_EQ(pixel(decoded, 0, 0), (std::vector<std::uint8_t>{255, 255, 255}));
  EXPECT_EQ(pixel(decoded, 1, 0), (std::vector<std::uint8_t>{10, 20, 30}));
  EXPECT_EQ(pixel(decoded, 2, 0), (std::vector<std::uint8_t>{127, 177, 227}));
  EXPECT_EQ(pixel(decoded, 3, 0), (std::vector<std::uint8_t>{255, 255, 255}));
  const cv::Mat mat(3, 3, CV_8UC4, cv::Scalar(200, 100, 0, 128));
  EXPECT_EQ(pixel(decode("x.webp", encoded(".webp", mat, {cv::IMWRITE_WEBP_QUALITY, 101})), 1, 1),
            (std::vector<std::uint8_t>{127, 177, 227}));
}

TEST_F(DecodeImage, OtherTransparencyIsDropped) {
  const Image palette = decode("x.png", png_file({.width = 2,
                                                  .height = 1,
                                                  .color_type = PNG_COLOR_TYPE_PALETTE,
                                                  .samples = {1, 0},
                                                  .palette = {{1, 2, 3}, {40, 50, 60}},
                                                  .palette_alpha = {0, 128}}));
  EXPECT_EQ(palette.pixels, (std::vector<std::uint8_t>{40, 50, 60, 1, 2, 3}));
  const Image gray =
      decode("y.png",
             png_file({.width = 2, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA, .samples = {9, 0, 77, 128}}));
  EXPECT_EQ(gray.pixels, (std::vector<std::uint8_t>{9, 9, 9, 77, 77, 77}));
}

TEST_F(DecodeImage, FewBitsOfGraySpreadOverTheRange) {
  const Image decoded = decode(
      "x.png",
      png_file({.width = 4, .height = 1, .bit_depth = 2, .color_type = PNG_COLOR_TYPE_GRAY, .samples = {0b00011011}}));
  EXPECT_EQ(decoded.pixels, (std::vector<std::uint8_t>{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
}

TEST_F(DecodeImage, PortableMapsOfAnyRange) {
  using namespace std::string_literals;
  EXPECT_EQ(decode("a.pgm", "P5 # a comment\n2 1\n255\n\x10\xff"s).pixels,
            (std::vector<std::uint8_t>{16, 16, 16, 255, 255, 255}));
  EXPECT_EQ(decode("b.pgm", "P5\n2 1\n100\n\x32\x64"s).pixels,
            (std::vector<std::uint8_t>{128, 128, 128, 255, 255, 255}));
  EXPECT_EQ(decode("c.pgm", "P5\n2 1\n1000\n\x01\xf4\x03\xe8"s).pixels,
            (std::vector<std::uint8_t>{128, 128, 128, 255, 255, 255}));
  EXPECT_EQ(decode("d.ppm", "P3\n1 1\n255\n1 2 3\n"s).pixels, (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST_F(DecodeImage, BmpWithoutBitFieldsHasNoAlpha) {
  const cv::Mat mat(2, 2, CV_8UC4, cv::Scalar(30, 20, 10, 0));
  std::string file = encoded(".bmp", mat);
  constexpr char kUncompressed = 0;
  file[30] = kUncompressed;
  EXPECT_EQ(pixel(decode("x.bmp", file), 1, 1), (std::vector<std::uint8_t>{10, 20, 30}));
}

TEST_F(DecodeImage, InksBecomeLight) {
  const Image white = decode("white.jpg", test::cmyk_jpeg_file(8, 8, {255, 255, 255, 255}));
  EXPECT_EQ(pixel(white, 3, 3), (std::vector<std::uint8_t>{255, 255, 255}));
  const Image dark = decode("dark.jpg", test::cmyk_jpeg_file(8, 8, {255, 128, 0, 100}));
  EXPECT_EQ(pixel(dark, 3, 3), (std::vector<std::uint8_t>{100, 50, 0}));
}

TEST_F(DecodeImage, AJpegWhosePixelsWereInventedIsBad) {
  const std::string whole = encoded(".jpg", noise_image(80, 60));
  const std::string cut_but_closed = whole.substr(0, whole.size() / 2) + "\xff\xd9";
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("half.jpg", cut_but_closed); },
      AllOf(HasSubstr("half.jpg"), HasSubstr("damaged or cut off")));
}

TEST_F(DecodeImage, EveryOrientationOfEveryFormatThatHasOne) {
  const Image stored = noise_image(37, 34);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image expected = orient(stored, orientation);
    const PngParts parts{.width = 37, .height = 34, .samples = stored.pixels, .orientation = orientation};
    for (const auto& path : {store("x.png", png_file(parts)), store("x.tiff", test::tiff_file(stored, orientation))}) {
      const Image upright = decode_image(path);
      EXPECT_EQ(upright.width, expected.width) << path;
      EXPECT_EQ(upright.pixels, expected.pixels) << path << " orientation " << orientation;
      EXPECT_EQ(read_image_size(path), (ImageSize{expected.width, expected.height}));
      EXPECT_EQ(decode_image(path, Turn::raw_clockwise_90).pixels, orient(stored, 6).pixels);
      EXPECT_EQ(read_image_size(path, Turn::raw_clockwise_90), (ImageSize{34, 37}));
    }
  }
}

TEST_F(DecodeImage, SizesFromHeadersAreTheDecodedOnes) {
  const Image image = noise_image(96, 64);
  for (const char* extension : {".png", ".jpg", ".webp", ".bmp", ".tiff", ".ppm", ".jp2"}) {
    const auto path = store("x", encoded(extension, image));
    EXPECT_EQ(read_image_size(path), (ImageSize{96, 64})) << extension;
    EXPECT_EQ(decode_image(path).width, 96) << extension;
  }
  const auto lossless = store("y", encoded(".webp", image, {cv::IMWRITE_WEBP_QUALITY, 101}));
  EXPECT_EQ(read_image_size(lossless), (ImageSize{96, 64}));
}

TEST_F(DecodeImage, MissingEmptyAndForeignFilesAreNamed) {
  test::expect_error(
      ErrorCode::input, [&] { (void)decode_image(folder_ / "gone.png"); }, HasSubstr("gone.png"));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode_image(folder_.path()); }, HasSubstr(folder_.path().string()));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("zero.png", ""); }, AllOf(HasSubstr("zero.png"), HasSubstr("empty")));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("page.jpg", "<!DOCTYPE html><html></html>"); },
      AllOf(HasSubstr("page.jpg"), HasSubstr("not an image")));
  test::expect_error(
      ErrorCode::input, [&] { (void)read_image_size(folder_ / "page.jpg"); }, HasSubstr("not an image"));
}

TEST_F(DecodeImage, CutOffFilesAreErrorsWhereverTheyEnd) {
  const Image image = noise_image(11, 7);
  for (const char* extension : {".png", ".jpg", ".webp", ".bmp", ".tiff", ".ppm"}) {
    const std::string whole = encoded(extension, image);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      if (length > 70 && length + 20 < whole.size() && length % 9 != 0) continue;  // headers and ends matter most
      test::expect_error(
          ErrorCode::input, [&] { (void)decode("cut", whole.substr(0, length)); }, HasSubstr("cut"));
    }
  }
}

TEST_F(DecodeImage, AbsurdSizesAreRefusedBeforeAnythingIsDecoded) {
  std::string png = encoded(".png", noise_image(3, 3));
  png[16] = 0x7f;  // width
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("bomb.png", png); },
      AllOf(HasSubstr("bomb.png"), HasSubstr("claims"), HasSubstr("limit")));
  std::string bmp = encoded(".bmp", noise_image(3, 3));
  bmp.replace(18, 8, std::string("\0\0\0\x40\0\0\0\x40", 8));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("bomb.bmp", bmp); }, HasSubstr("limit"));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("bomb.ppm", "P6 999999 999999 255\n"); }, HasSubstr("limit"));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("none.ppm", "P6 0 5 255\n"); }, HasSubstr("0 x 5"));
}

TEST_F(DecodeImage, SamplesThatAreNoIntegersAreRefused) {
  const cv::Mat mat(2, 2, CV_32FC3, cv::Scalar(1, 2, 3));
  test::expect_error(
      ErrorCode::input, [&] { (void)decode("float.tiff", encoded(".tiff", mat)); },
      AllOf(HasSubstr("float.tiff"), HasSubstr("32-bit"), HasSubstr("convert")));
}

}  // namespace
}  // namespace lingbot_map
