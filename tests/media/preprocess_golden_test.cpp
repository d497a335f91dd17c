#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "golden.hpp"
#include "media/image.hpp"
#include "media/preprocess.hpp"

namespace lingbot_map {
namespace {

const std::filesystem::path kData = LINGBOT_MAP_TEST_DATA;
const std::filesystem::path kImages = kData / "preprocess_images";

/// Channels first, as the golden file has them.
std::vector<std::uint8_t> planar(const Image& image) {
  const std::size_t plane = image.pixels.size() / 3;
  std::vector<std::uint8_t> values(image.pixels.size());
  for (std::size_t i = 0; i < image.pixels.size(); ++i) values[i % 3 * plane + i / 3] = image.pixels[i];
  return values;
}

std::string first_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  std::size_t differing = 0;
  std::size_t first = 0;
  int most = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (differing++ == 0) first = i;
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  return std::to_string(differing) + " bytes differ, by up to " + std::to_string(most) + ", first at " +
         std::to_string(first);
}

using Case = std::tuple<std::string, PreprocessMode>;

class PreprocessGolden : public ::testing::TestWithParam<Case> {};

TEST_P(PreprocessGolden, EqualsThePublicLoaderByteForByte) {
  const auto& [name, mode] = GetParam();
  test::Golden golden((kData / "preprocess.safetensors").string());
  const std::string key = std::string(name_of(mode)) + "/" + name;
  const Image image = decode_image(kImages / name);
  const PreprocessOptions options{.image_size = 168, .patch_size = 14, .mode = mode};
  const PreprocessGeometry geometry = plan_preprocess({image.width, image.height}, options);
  const Image frame = preprocess(image, geometry);

  EXPECT_EQ(golden.shape(key), (std::vector<std::int64_t>{3, frame.height, frame.width}));
  const auto expected = golden.bytes(key);
  const auto found = planar(frame);
  EXPECT_TRUE(found == expected) << first_difference(found, expected);
  EXPECT_EQ(read_image_size(kImages / name), (ImageSize{image.width, image.height}));
}

/// The public loader saturates 16-bit gray; value / 257 is right.
TEST(PreprocessGolden16, SixteenBitGrayIsScaled) {
  const cv::Mat gray = cv::imread((kImages / "gray16.png").string(), cv::IMREAD_UNCHANGED);
  ASSERT_EQ(gray.type(), CV_16UC1);
  const Image image = decode_image(kImages / "gray16.png");
  ASSERT_EQ(image.width, gray.cols);
  ASSERT_EQ(image.height, gray.rows);
  for (int y = 0; y < gray.rows; ++y) {
    for (int x = 0; x < gray.cols; ++x) {
      const long expected = std::lround(gray.at<std::uint16_t>(y, x) / 257.0);
      ASSERT_EQ(image.pixels[static_cast<std::size_t>(y * gray.cols + x) * 3], expected) << x << ", " << y;
    }
  }
  const PreprocessGeometry geometry = plan_preprocess({image.width, image.height}, {.image_size = 168});
  EXPECT_EQ(preprocess(image, geometry).height, 126);
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const char* name :
       {"exact.png", "exif3.jpg", "exif6.jpg", "exif8.jpg", "gray.jpg", "gray.png", "odd.png", "palette.png",
        "portrait.jpg", "rgba.png", "small.png", "square.jpg", "vga.png", "webp.webp", "wide.png"}) {
    cases.emplace_back(name, PreprocessMode::crop);
    cases.emplace_back(name, PreprocessMode::pad);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Images, PreprocessGolden, ::testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = std::get<0>(info.param);
  name[name.find('.')] = '_';
  return name + "_" + std::string(name_of(std::get<1>(info.param)));
});

}  // namespace
}  // namespace lingbot_map
