#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::Outcome;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class SceneCommand : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  static void expect_failure(const Outcome& outcome, int exit_code, const std::string& text) {
    EXPECT_EQ(outcome.exit_code, exit_code) << text;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("lingbot-map: error: "), HasSubstr(text)));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
  /// The numbers of every line that is no comment.
  static std::vector<std::vector<double>> rows_of(const std::string& file) {
    std::vector<std::vector<double>> rows;
    std::istringstream lines(content_of(file));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream words(line);
      rows.emplace_back();
      for (double number = 0; words >> number;) rows.back().push_back(number);
    }
    return rows;
  }
  /// Values of a float32 .npy file of this shape.
  static std::vector<float> npy_values(const std::string& file, const std::string& shape) {
    const std::string bytes = content_of(file);
    EXPECT_THAT(bytes.substr(0, 128), AllOf(HasSubstr("'<f4'"), HasSubstr(shape)));
    const std::size_t begin = 10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
    std::vector<float> values((bytes.size() - begin) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
    return values;
  }
  static std::size_t files_in(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }

  test::TemporaryFolder folder_;
};

TEST_F(SceneCommand, WritesPicturesDepthCamerasAndSky) {
  const std::string out = path("out");
  const Outcome outcome = run_program(
      {"scene", "--kind", "street", "--seed", "6", "--frames", "5", "--size", "64x48", "--sky-masks", "--output", out});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("5 frames of 64 x 48"));

  const auto poses = rows_of(out + "/groundtruth.txt");
  const auto cameras = rows_of(out + "/intrinsics.txt");
  const nlohmann::json scene = nlohmann::json::parse(content_of(out + "/scene.json"));
  ASSERT_EQ(poses.size(), 5U);
  ASSERT_EQ(cameras.size(), 5U);
  EXPECT_EQ(scene["kind"], "street");
  EXPECT_EQ(scene["seed"], 6);
  EXPECT_EQ(scene["frames"], 5);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(poses[i].size(), 8U);
    EXPECT_NEAR(poses[i][0], 0.1 * static_cast<double>(i), 1e-9);
    double square = 0;
    for (int k = 4; k < 8; ++k) square += poses[i][k] * poses[i][k];
    EXPECT_NEAR(square, 1, 1e-7);
    ASSERT_EQ(cameras[i].size(), 11U);
    EXPECT_NEAR(cameras[i][1], scene["fx"].get<double>(), 1e-5);
    EXPECT_NEAR(2 * std::atan(32 / cameras[i][1]) * 180 / 3.14159265, scene["fov_horizontal_degrees"].get<double>(),
                1e-4);
    EXPECT_EQ(cameras[i][3], 32);
    EXPECT_EQ(cameras[i][4], 24);
  }

  std::size_t sky = 0;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "/00000" + std::to_string(i);
    const cv::Mat image = cv::imread(out + "/images" + name + ".png", cv::IMREAD_UNCHANGED);
    const cv::Mat depth = cv::imread(out + "/depth" + name + ".png", cv::IMREAD_UNCHANGED);
    const cv::Mat mask = cv::imread(out + "/sky" + name + ".png", cv::IMREAD_UNCHANGED);
    ASSERT_EQ(image.type(), CV_8UC3);
    ASSERT_EQ(depth.type(), CV_16UC1);
    ASSERT_EQ(mask.type(), CV_8UC1);
    ASSERT_EQ(image.size(), cv::Size(64, 48));
    const std::vector<float> exact = npy_values(out + "/depth" + name + ".npy", "(48, 64, )");
    ASSERT_EQ(exact.size(), 64U * 48);
    for (int p = 0; p < 64 * 48; ++p) {
      const float metres = exact[static_cast<std::size_t>(p)];
      EXPECT_NEAR(depth.at<std::uint16_t>(p / 64, p % 64), std::min(metres * 1000, 65535.F), 0.51);
      EXPECT_EQ(mask.at<std::uint8_t>(p / 64, p % 64), metres > 0 ? 255 : 0);
      sky += metres > 0 ? 0 : 1;
    }
  }
  EXPECT_GT(sky, 0U);
}

TEST_F(SceneCommand, ThreadsChangeNothing) {
  for (const char* threads : {"1", "3"}) {
    const Outcome outcome = run_program({"scene", "--kind", "room", "--seed", "9", "--frames", "7", "--size", "40x30",
                                         "--threads", threads, "--quiet", "--output", path(threads)});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  for (const char* name : {"groundtruth.txt", "intrinsics.txt", "scene.json", "images/000006.png", "depth/000003.npy"})
    EXPECT_TRUE(content_of(path("1") + "/" + name) == content_of(path("3") + "/" + name)) << name;
}

TEST_F(SceneCommand, ASecondSceneReplacesTheFirst) {
  const std::string out = path("out");
  const auto draw = [&](const char* frames) {
    return run_program({"scene", "--kind", "orbit", "--frames", frames, "--size", "24x16", "--output", out});
  };
  ASSERT_EQ(draw("6").exit_code, 0);
  ASSERT_EQ(draw("2").exit_code, 0);
  EXPECT_EQ(files_in(out + "/images"), 2U);
  EXPECT_EQ(files_in(out + "/depth"), 4U);
  EXPECT_EQ(rows_of(out + "/groundtruth.txt").size(), 2U);
}

TEST_F(SceneCommand, OthersPicturesAreLeftAlone) {
  std::filesystem::create_directories(path("mine/images"));
  test::write_content(path("mine/images/000001.png"), "mine");
  expect_failure(run_program({"scene", "--kind", "room", "--frames", "2", "--size", "24x16", "--output", path("mine")}),
                 1, "no scene.json beside it");
  EXPECT_EQ(content_of(path("mine/images/000001.png")), "mine");
}

TEST_F(SceneCommand, AFieldOfViewCanBeAskedFor) {
  const Outcome outcome = run_program({"scene", "--kind", "corridor", "--frames", "2", "--size", "40x30", "--fov", "90",
                                       "--fps", "30", "--output", path("out")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NEAR(rows_of(path("out/intrinsics.txt"))[0][1], 20, 1e-6);
  EXPECT_NEAR(rows_of(path("out/groundtruth.txt"))[1][0], 1 / 30.0, 1e-6);
}

TEST_F(SceneCommand, AnotherSeedIsAnotherWorld) {
  for (const char* seed : {"0", "1"})
    ASSERT_EQ(run_program({"scene", "--kind", "orbit", "--seed", seed, "--frames", "1", "--size", "24x16", "--quiet",
                           "--output", path(seed)})
                  .exit_code,
              0);
  EXPECT_NE(content_of(path("0/images/000000.png")), content_of(path("1/images/000000.png")));
  EXPECT_FALSE(std::filesystem::exists(path("0/sky"))) << "only with --sky_masks";
}

TEST_F(SceneCommand, BadInputIsOneLine) {
  const auto scene = [&](std::vector<std::string> words) {
    std::vector<std::string> all = {"scene", "--kind", "room", "--output", path("out")};
    all.insert(all.end(), words.begin(), words.end());
    return run_program(all);
  };
  expect_failure(run_program({"scene", "--output", path("out")}), 2, "--kind");
  expect_failure(run_program({"scene", "--kind", "room"}), 2, "--output");
  expect_failure(scene({"--kind", "castle"}), 2, "--kind: found \"castle\", expected room, corridor, street or orbit");
  expect_failure(scene({"--seed", "-1"}), 2, "--seed -1: expected a whole number");
  expect_failure(scene({"--seed", "18446744073709551616"}), 2, "--seed 18446744073709551616");
  expect_failure(scene({"--frames", "0"}), 2, "--frames");
  expect_failure(scene({"--frames", "1.5"}), 2, "--frames");
  expect_failure(scene({"--frames", "2000000"}), 2, "found 2000000 frames, expected 1 to 1000000");
  for (const char* size : {"0x5", "8193x10"}) expect_failure(scene({"--size", size}), 2, "found the size");
  for (const char* size : {"", "9x9x", "99999999999x9"})
    expect_failure(scene({"--size", size}), 2, "expected WIDTHxHEIGHT");
  for (const char* fov : {"0", "nan", "1e999"}) expect_failure(scene({"--fov", fov}), 2, "--fov");
  expect_failure(scene({"--fov", "3"}), 2, "expected 10 to 150");
  for (const char* fps : {"0", "inf"}) expect_failure(scene({"--fps", fps}), 2, "--fps");
  for (const char* threads : {"-1", "1025"}) expect_failure(scene({"--threads", threads}), 2, "--threads");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(SceneCommand, WhereNothingCanBeWrittenIsSaid) {
  test::write_content(path("file"), "");
  expect_failure(run_program({"scene", "--kind", "room", "--size", "24x16", "--output", path("file")}), 1,
                 "is not a folder");
  expect_failure(run_program({"scene", "--kind", "room", "--size", "24x16", "--output", path("file/x")}), 1, "file/x");
  expect_failure(run_program({"scene", "--kind", "room", "--size", "24x16", "--output", ""}), 1, "empty name");
  const Outcome full = run_program(
      {"scene", "--kind", "room", "--frames", "3", "--size", "200x100", "--threads", "1", "--output", path("full")},
      20'000);  // no file may grow beyond
  expect_failure(full, 1, "cannot be written");
}

}  // namespace
}  // namespace lingbot_map
