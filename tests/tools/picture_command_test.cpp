#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PictureCommand : public testing::Test {
 protected:
  /// What a run leaves: a green floor, and a camera that goes over it.
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "run");
    std::string points;
    int count = 0;
    for (int i = 0; i < 60; ++i)
      for (int j = 0; j < 60; ++j, ++count) {
        const float position[3] = {0.1F * static_cast<float>(i - 30), 1, 0.1F * static_cast<float>(j)};
        points.append(reinterpret_cast<const char*>(position), sizeof position);
        points.append("\x10\xC8\x10", 3);
      }
    write_content(folder_ / "run/points.ply",
                  "ply\nformat binary_little_endian 1.0\nelement vertex " + std::to_string(count) +
                      "\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar "
                      "green\nproperty uchar blue\nend_header\n" +
                      points);
    write_content(folder_ / "run/trajectory.txt",
                  "# a path\n0.0 0 0 0 0 0 0 1\n0.1 0 0 2 0 0 0 1\n# 0.2 has no pose\n0.3 0 0 4 0 0 0 1\n");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] Outcome picture(std::vector<std::string> words) const {
    words.insert(words.begin(), "picture");
    words.insert(words.end(), {"--output", path("a.png")});
    return run_program(words);
  }
  [[nodiscard]] double green_share() const {
    const cv::Mat image = cv::imread(path("a.png"));
    int green = 0;
    for (int row = 0; row < image.rows; ++row)
      for (int column = 0; column < image.cols; ++column) {
        const cv::Vec3b bgr = image.at<cv::Vec3b>(row, column);
        green += bgr[1] > bgr[0] + 60 && bgr[1] > bgr[2] + 60;
      }
    return static_cast<double>(green) / static_cast<double>(image.total());
  }

  TemporaryFolder folder_;
};

TEST_F(PictureCommand, DrawsARun) {
  const Outcome outcome = picture({path("run"), "--size", "320x200", "--point_size", "6"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "3,600 points and 3 cameras in " + path("a.png") + "\n");
  const cv::Mat image = cv::imread(path("a.png"));
  EXPECT_EQ(image.cols, 320);
  EXPECT_EQ(image.rows, 200);
  EXPECT_GT(green_share(), 0.15);
  EXPECT_EQ(image.at<cv::Vec3b>(0, 0), cv::Vec3b(255, 255, 255));
}

TEST_F(PictureCommand, TurnsAndChoosesSides) {
  const std::vector<std::string> from_below = {path("run"), "--size",      "320x200", "--point_size",
                                               "6",         "--elevation", "-40"};
  ASSERT_EQ(picture(from_below).exit_code, 0);
  const double seen_from_below = green_share();
  std::vector<std::string> all_sides = from_below;
  all_sides.insert(all_sides.end(), {"--all_sides", "--background", "black", "--azimuth", "120", "--fov", "60"});
  ASSERT_EQ(picture(all_sides).exit_code, 0);
  EXPECT_GT(green_share(), 0.1);
  EXPECT_LT(seen_from_below, 0.02) << "but for a few points at the border, whose neighbours make no plane";
  EXPECT_EQ(cv::imread(path("a.png")).at<cv::Vec3b>(0, 0), cv::Vec3b(0, 0, 0));
}

TEST_F(PictureCommand, EveryAngleAndSizeChangesWhatIsSeen) {
  ASSERT_EQ(picture({path("run"), "--size", "160x100"}).exit_code, 0);
  const std::string usual = content_of(folder_ / "a.png");
  for (const auto& [flag, value] : {std::pair{"--azimuth", "60"}, std::pair{"--elevation", "70"},
                                    std::pair{"--fov", "80"}, std::pair{"--point_size", "5"}}) {
    ASSERT_EQ(picture({path("run"), "--size", "160x100", flag, value}).exit_code, 0) << flag;
    EXPECT_NE(content_of(folder_ / "a.png"), usual) << flag;
  }
}

TEST_F(PictureCommand, TakesFilesAlone) {
  EXPECT_THAT(picture({"--points", path("run/points.ply")}).out, HasSubstr("3,600 points and 0 cameras"));
  EXPECT_THAT(picture({"--trajectory", path("run/trajectory.txt")}).out, HasSubstr("0 points and 3 cameras"));
}

TEST_F(PictureCommand, RefusesWhatItCannotDraw) {
  write_content(folder_ / "run/empty.ply", "");
  const std::tuple<std::vector<std::string>, int, const char*> cases[] = {
      {{}, 2, "nothing to draw"},
      {{path("none")}, 1, "none/points.ply"},
      {{path("run"), "--points", path("run/empty.ply")}, 1, "empty.ply: found no PLY header"},
      {{path("run"), "--trajectory", path("run/points.ply")}, 1, "points.ply"},
      {{path("run"), "--size", "8x8"}, 2, "found a picture of 8x8"},
      {{path("run"), "--size", "wide"}, 2, "--size: found \"wide\""},
      {{path("run"), "--point_size", "-1"}, 2, "point size -1"},
      {{path("run"), "--elevation", "100"}, 2, "elevation 100"},
      {{path("run"), "--azimuth", "nan"}, 2, "azimuth nan"},
      {{path("run"), "--fov", "180"}, 2, "field of view"},
      {{path("run"), "--background", "red"}, 2, "--background: found \"red\""},
  };
  for (const auto& [words, code, text] : cases) {
    const Outcome outcome = picture(words);
    EXPECT_EQ(outcome.exit_code, code) << text;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("lingbot-map: error: "), HasSubstr(text)));
  }
  const Outcome unwritable = run_program({"picture", path("run"), "--output", "/none/a.png"});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("/none/a.png"));
}

}  // namespace
}  // namespace lingbot_map::test
