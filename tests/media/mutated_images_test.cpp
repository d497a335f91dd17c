#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "encoders.hpp"
#include "lingbot_map/error.hpp"
#include "media/image.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

/// A few bytes flipped, inserted, removed or cut away.
std::string mutated(std::string file, std::mt19937& random) {
  auto below = [&random](std::size_t end) { return end == 0 ? 0 : random() % end; };
  const std::size_t changes = 1 + below(4);
  for (std::size_t i = 0; i < changes; ++i) {
    // Headers are short and say most: half of all changes go there.
    const std::size_t at = below(random() % 2 == 0 ? std::min<std::size_t>(file.size(), 64) : file.size());
    switch (random() % 5) {
      case 0: file[at] = static_cast<char>(random()); break;
      case 1: file[at] = static_cast<char>(file[at] ^ (1 << random() % 8)); break;
      case 2: file.insert(at, 1 + below(8), static_cast<char>(random())); break;
      case 3: file.erase(at, 1 + below(8)); break;
      default: file.resize(random() % 4 == 0 ? at : file.size());
    }
    if (file.empty()) file.push_back('x');
  }
  return file;
}

class MutatedImages : public ::testing::TestWithParam<const char*> {};

TEST_P(MutatedImages, AreReadOrRefusedInOneLine) {
  const test::TemporaryFolder folder;
  const std::string extension = GetParam();
  const Image image = test::noise_image(23, 18);
  const std::string whole = extension == ".exif.png"
                                ? test::png_file({.width = 23, .height = 18, .samples = image.pixels, .orientation = 6})
                            : extension == ".exif.tiff" ? test::tiff_file(image, 6)
                                                        : test::encoded(extension, image);
  const auto path = folder / "mutant";
  int refused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    test::write_content(path, mutated(whole, random));
    ImageSize size;
    try {
      size = read_image_size(path);
      const Image decoded = decode_image(path);
      EXPECT_EQ(size, (ImageSize{decoded.width, decoded.height})) << "seed " << seed;
      EXPECT_EQ(decoded.pixels.size(),
                static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * 3);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ErrorCode::input) << "seed " << seed << ": " << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "seed " << seed << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find("mutant"), std::string::npos) << "seed " << seed << ": " << error.what();
    }
  }
  EXPECT_GT(refused, 20);
}

INSTANTIATE_TEST_SUITE_P(Formats, MutatedImages,
                         ::testing::Values(".png", ".exif.png", ".jpg", ".webp", ".bmp", ".ppm", ".exif.tiff"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace lingbot_map
