#include <gtest/gtest.h>

#include <map>
#include <opencv2/imgcodecs.hpp>

#include "export/readers.hpp"
#include "media/onnx_file.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Runs over pictures whose upper third is blue, with a network that calls blue sky.
class RunSkyTest : public RunTest {
 protected:
  static constexpr std::size_t kWidth = 84;
  static constexpr std::size_t kHeight = 56;
  static constexpr std::size_t kSkyRows = 19;

  void SetUp() override { write_content(folder_ / "sky.onnx", onnx_file({.bias = -4})); }

  /// Gray below the sky, and different for each number.
  static std::string street(int number) {
    std::string content = "P6 84 56 255\n";
    for (std::size_t y = 0; y < kHeight; ++y)
      for (std::size_t x = 0; x < kWidth; ++x)
        for (int c = 0; c < 3; ++c)
          content += static_cast<char>(
              y < kSkyRows ? 60 + 80 * c : static_cast<int>(3 * x + 5 * y) % 200 + 20 * (2 - c) + 3 * number);
    return content;
  }
  void make_streets(int count) const {
    std::filesystem::create_directory(folder_ / "frames");
    for (int i = 0; i < count; ++i) write_content(folder_ / "frames" / name(i), street(i));
  }
  static std::string name(int number) { return "img_" + std::to_string(number) + ".ppm"; }

  Outcome run_masked(const std::string& output, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--mask_sky", "--sky_model", path("sky.onnx"), "--sky_mask_dir", path("masks")});
    return run_program(words(output, more));
  }
  std::map<std::string, std::string> masks() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "masks"))
      contents[entry.path().filename().string()] = content_of(entry.path());
    return contents;
  }
};

TEST_F(RunSkyTest, SetsTheConfidenceOfSkyToZeroEverywhere) {
  make_streets(3);
  const Outcome outcome = run_masked("out", {"--save_predictions", "--save_depth"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(run_program(words("plain", {"--save_predictions"})).exit_code, 0);
  for (const char* frame : {"predictions/frame_000000.npz", "predictions/frame_000002.npz"}) {
    const auto masked = read_npz(folder_ / "out" / frame);
    const auto plain = read_npz(folder_ / "plain" / frame);
    const auto& confidence = masked.at("depth_conf").values<float>();
    const auto& before = plain.at("depth_conf").values<float>();
    ASSERT_EQ(confidence.size(), kWidth * kHeight);
    for (std::size_t i = 0; i < confidence.size(); ++i)
      ASSERT_EQ(confidence[i], i / kWidth < kSkyRows ? 0 : before[i]) << i;
    EXPECT_EQ(masked.at("depth").bytes, plain.at("depth").bytes);
  }
  const cv::Mat gray = cv::imread(path("out/confidence/frame_000001.png"), cv::IMREAD_UNCHANGED);
  ASSERT_EQ(gray.type(), CV_16UC1);
  for (int y = 0; y < gray.rows; ++y)
    EXPECT_EQ(gray.at<std::uint16_t>(y, 40) == 0, static_cast<std::size_t>(y) < kSkyRows) << y;

  const auto json = report("out");
  EXPECT_EQ(json["sky"]["model"], path("sky.onnx"));
  EXPECT_EQ(json["sky"]["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(json["sky"]["threshold"], 0.5);
  EXPECT_EQ(json["sky"]["masks_made"], 3);
  EXPECT_EQ(json["sky"]["masks_reused"], 0);
  EXPECT_NEAR(json["sky"]["mean_share"].get<double>(), static_cast<double>(kSkyRows) / kHeight, 1e-9);
  EXPECT_EQ(json["settings"]["mask_sky"], true);
  EXPECT_EQ(json["settings"]["sky_mask_dir"], path("masks"));
  EXPECT_GT(json["seconds"]["sky"].get<double>(), 0);
  EXPECT_EQ(report("plain")["sky"], nullptr);
  EXPECT_EQ(report("plain")["settings"]["mask_sky"], false);
}

TEST_F(RunSkyTest, SkyHasNoPointsWhateverTheThreshold) {
  make_frames(11);  // of which the tiny model makes usable cameras
  ASSERT_EQ(run_masked("out", {"--save_predictions", "--conf_threshold", "-1", "--downsample_factor", "1"}).exit_code,
            0);
  std::size_t seen = 0;
  std::size_t sky = 0;
  for (int i = 0; i < 11; ++i) {
    const std::string number = (i < 10 ? "00000" : "0000") + std::to_string(i);
    const auto frame = read_npz(folder_ / ("out/predictions/frame_" + number + ".npz"));
    const auto pose = frame.at("pose_enc").values<float>();
    for (const float confidence : frame.at("depth_conf").values<float>()) {
      if (confidence == 0) ++sky;
      if (confidence > 0 && pose.at(7) > 0 && pose.at(8) > 0) ++seen;
    }
  }
  EXPECT_GT(sky, 100U);
  EXPECT_GT(seen, 100U);
  EXPECT_EQ(read_ply(folder_ / "out/points.ply").vertices.size(), seen);
}

TEST_F(RunSkyTest, ReusesMasksForTheSameFramesOnly) {
  make_streets(6);
  ASSERT_EQ(run_masked("one", {"--stride", "2", "--save_predictions"}).exit_code, 0);
  const auto first = masks();
  ASSERT_EQ(first.size(), 3U);
  EXPECT_TRUE(first.contains("img_4.ppm.png"));

  const Outcome again = run_masked("two", {"--first_k", "5", "--save_predictions"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("made anew")));
  EXPECT_EQ(report("two")["sky"]["masks_reused"], 3);
  EXPECT_EQ(report("two")["sky"]["masks_made"], 2);
  EXPECT_DOUBLE_EQ(report("two")["sky"]["mean_share"], report("one")["sky"]["mean_share"]);
  for (const auto& [file, content] : first) EXPECT_EQ(masks().at(file), content) << file;

  // Other pictures under the same names.
  write_content(folder_ / "frames/img_0.ppm", street(50));
  write_content(folder_ / "frames/img_1.ppm", street(51));
  const Outcome changed = run_masked("three", {"--first_k", "5"});
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_EQ(report("three")["sky"]["masks_made"], 2);
  const std::size_t said = changed.err.find("such masks are made anew");
  ASSERT_NE(said, std::string::npos) << changed.err;
  EXPECT_EQ(changed.err.find("such masks are made anew", said + 1), std::string::npos) << changed.err;
}

TEST_F(RunSkyTest, MasksOfAnotherModelOrSizeAreMadeAnew) {
  make_streets(2);
  ASSERT_EQ(run_masked("out").exit_code, 0);
  const auto first = masks();
  write_content(folder_ / "sky.onnx", onnx_file({.weights = {4, 0, -4}, .bias = 0}));
  ASSERT_EQ(run_masked("out").exit_code, 0);
  EXPECT_EQ(report("out")["sky"]["masks_made"], 2);
  EXPECT_NE(masks().at("img_0.ppm.png"), first.at("img_0.ppm.png"));
  ASSERT_EQ(run_masked("out").exit_code, 0);
  EXPECT_EQ(report("out")["sky"]["masks_reused"], 2);
  ASSERT_EQ(run_masked("out", {"--image_size", "56"}).exit_code, 0);
  EXPECT_EQ(report("out")["sky"]["masks_made"], 2);
}

TEST_F(RunSkyTest, LeavesForeignFilesInTheFolderAlone) {
  make_streets(2);
  std::filesystem::create_directory(folder_ / "masks");
  write_content(folder_ / "masks/img_0.ppm.png", "mine");
  write_content(folder_ / "masks/notes.txt", "mine too");
  const Outcome outcome = run_masked("out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(path("masks/img_0.ppm.png")), HasSubstr("is no mask of this program")));
  EXPECT_EQ(masks().at("img_0.ppm.png"), "mine");
  EXPECT_EQ(masks().at("notes.txt"), "mine too");
  EXPECT_EQ(masks().size(), 3U);
  EXPECT_NEAR(report("out")["sky"]["mean_share"].get<double>(), static_cast<double>(kSkyRows) / kHeight, 1e-9);
  EXPECT_THAT(report("out")["warnings"].dump(), HasSubstr("is no mask of this program"));
}

TEST_F(RunSkyTest, DrawsMasks) {
  make_streets(2);
  std::filesystem::create_directory(folder_ / "seen");
  write_content(folder_ / "seen/frame_000007.png", "of an earlier run");
  ASSERT_EQ(run_masked("out", {"--sky-mask-visualization-dir", path("seen")}).exit_code, 0);
  const cv::Mat picture = cv::imread(path("seen/frame_000001.png"));
  EXPECT_EQ(picture.size(), cv::Size(3 * static_cast<int>(kWidth), static_cast<int>(kHeight)));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "seen/frame_000007.png"));
}

TEST_F(RunSkyTest, TheBuiltinEstimateNeedsNoFile) {
  make_streets(3);
  for (const int reused : {0, 3}) {
    const Outcome outcome = run_program(words("out", {"--mask_sky", "--sky_model", "builtin"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto json = report("out");
    EXPECT_EQ(json["sky"]["model"], "builtin 1");
    EXPECT_EQ(json["sky"]["sha256"], nullptr);
    EXPECT_EQ(json["sky"]["masks_reused"], reused);
    EXPECT_EQ(json["settings"]["sky_mask_dir"], path("out/sky_masks"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out/sky_masks/img_2.ppm.png"));
  }
}

TEST_F(RunSkyTest, RefusesWrongUsage) {
  make_streets(1);
  expect_refusal(run_program(words("out", {"--mask_sky"})), 2,
                 AllOf(HasSubstr("--mask_sky: no sky model"), HasSubstr("skyseg.onnx"), HasSubstr("builtin")));
  expect_refusal(run_program(words("out", {"--sky_model", "builtin"})), 2, HasSubstr("--mask_sky"));
  expect_refusal(run_program(words("out", {"--mask_sky", "--sky_model", "builtin", "--sky_mask_dir", path("frames")})),
                 2, HasSubstr("--sky_mask_dir"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(RunSkyTest, RefusesModelsThatAreNoneBeforeAnythingIsWritten) {
  make_streets(1);
  const auto refused = [&](const std::string& content, const testing::Matcher<std::string>& line) {
    write_content(folder_ / "sky.onnx", content);
    expect_refusal(run_masked("out"), 1, AllOf(HasSubstr(path("sky.onnx")), line));
  };
  refused("", HasSubstr("not an ONNX model"));
  refused("<html>not found</html>", HasSubstr("not an ONNX model"));
  refused(onnx_file().substr(0, 100), HasSubstr("cut off"));
  refused(onnx_file({.input = {1, 3, 512, 512}}), HasSubstr("expected 1x3x320x320"));
  refused(onnx_file({.second_input = true}), HasSubstr("2 inputs"));
  std::filesystem::remove(folder_ / "sky.onnx");
  expect_refusal(run_masked("out"), 1,
                 AllOf(HasSubstr("found no file " + path("sky.onnx")), HasSubstr("JianyuanWang/skyseg")));
  std::filesystem::create_directory(folder_ / "sky.onnx");
  expect_refusal(run_masked("out"), 1, HasSubstr(path("sky.onnx")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "masks"));
}

TEST_F(RunSkyTest, TheFolderOfMasksMustBeWritable) {
  make_streets(1);
  write_content(folder_ / "masks", "a file");
  expect_refusal(run_masked("out"), 1, AllOf(HasSubstr(path("masks")), HasSubstr("not a folder")));
  expect_refusal(run_masked("out", {"--sky_mask_dir", path("masks/below")}), 1, HasSubstr(path("masks/below")));
  expect_refusal(run_masked("out", {"--sky_mask_dir", "/proc/masks"}), 1, HasSubstr("/proc/masks"));
}

TEST_F(RunSkyTest, ABadFrameKeepsTheMasksOfThoseBefore) {
  make_streets(12);
  write_content(folder_ / "frames/img_9.ppm", street(9).substr(0, 500));
  expect_refusal(run_masked("out"), 1, HasSubstr("img_9.ppm"));
  EXPECT_EQ(report("out")["sky"]["masks_made"], 9);
  ASSERT_EQ(run_masked("out", {"--skip_bad_frames"}).exit_code, 0);
  EXPECT_EQ(report("out")["sky"]["masks_reused"], 9);
  EXPECT_EQ(report("out")["sky"]["masks_made"], 2);
}

}  // namespace
}  // namespace lingbot_map::test
