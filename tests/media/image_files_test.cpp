#include "media/image_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::TemporaryFolder;
using test::write_content;

TEST(NaturalOrder, NumbersCompareAsNumbers) {
  EXPECT_TRUE(natural_less("img_2.jpg", "img_10.jpg"));
  EXPECT_FALSE(natural_less("img_10.jpg", "img_2.jpg"));
  EXPECT_TRUE(natural_less("a9", "a0010"));
  EXPECT_TRUE(natural_less("1_9_x", "1_10_a"));
  EXPECT_TRUE(natural_less("99999999999999999999999999998", "99999999999999999999999999999"));
  EXPECT_TRUE(natural_less("9", "10000000000000000000000000000000"));
}

TEST(NaturalOrder, IsTotal) {
  const std::vector<std::string> sorted = {"",     "-1",    "0",    "00",   "0a",   "1",  "01", "001",     "1a", "01a",
                                           "1a02", "2",     "002b", "9999", "A",    "a",  "a ", "a0",      "a1", "a01",
                                           "a1.1", "a01.0", "a2",   "a10",  "a10b", "aa", "b",  "\xc3\xa4"};
  for (const std::string& a : sorted) {
    EXPECT_FALSE(natural_less(a, a));
    for (const std::string& b : sorted) {
      EXPECT_EQ(natural_less(a, b) || natural_less(b, a), a != b) << a << " | " << b;
      EXPECT_FALSE(natural_less(a, b) && natural_less(b, a)) << a << " | " << b;
      for (const std::string& c : sorted) {
        if (natural_less(a, b) && natural_less(b, c)) {
          EXPECT_TRUE(natural_less(a, c)) << a << " | " << b << " | " << c;
        }
      }
    }
  }
}

TEST(NaturalOrder, LeadingZerosDecideLast) {
  EXPECT_TRUE(natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("a01.1", "a1.2"));
  EXPECT_TRUE(natural_less("a1.01", "a01.1"));
}

TEST(ListImages, TakesEveryTypeInAnyCaseInOrder) {
  const TemporaryFolder folder;
  for (const char* name : {"img_10.JPG", "img_2.jpeg", "img_1.PnG", "img_3.webp", "img_4.TIF", "img_5.bmp", "img_6.ppm",
                           ".hidden.png", "notes.txt", "png", "movie.mp4", "img_7"}) {
    write_content(folder / name, "x");
  }
  std::filesystem::create_directory(folder / "img_0.png");
  std::vector<std::string> names;
  for (const auto& path : list_images(folder.path())) names.push_back(path.filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"img_1.PnG", "img_2.jpeg", "img_3.webp", "img_4.TIF", "img_5.bmp",
                                             "img_6.ppm", "img_10.JPG"}));
}

TEST(ListImages, SaysWhatIsWrongWithAFolder) {
  const TemporaryFolder folder;
  write_content(folder / "notes.txt", "x");
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  test::expect_error(
      ErrorCode::input, [&] { (void)list_images(folder / "nowhere"); },
      AllOf(HasSubstr("nowhere"), HasSubstr("no such folder")));
  test::expect_error(
      ErrorCode::input, [&] { (void)list_images(folder / "notes.txt"); },
      AllOf(HasSubstr("notes.txt"), HasSubstr("is a file"), HasSubstr("--video_path")));
  test::expect_error(
      ErrorCode::input, [&] { (void)list_images(folder.path()); },
      AllOf(HasSubstr(folder.path().string()), HasSubstr("no image among 1 files"), HasSubstr("jpg"),
            HasSubstr("webp")));
}

}  // namespace
}  // namespace lingbot_map
