#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/imgcodecs.hpp>

#include "export/readers.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What flags of `run` change in what it writes.
class RunFlagsTest : public RunTest {
 protected:
  void run(const std::string& output, const std::vector<std::string>& more) const {
    const Outcome outcome = run_program(words(output, more));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  std::string file(const std::string& name) const { return content_of(folder_ / name); }
  /// Every point that has this camera, of 3 frames, with more flags.
  std::vector<PlyVertex> points(const std::string& output, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--intrinsics", "100,100,42,28",       "--conf_threshold",
                                    "-1",           "--downsample_factor", "1"};
    all.insert(all.end(), more.begin(), more.end());
    run(output, all);
    return read_ply(folder_ / (output + "/points.ply")).vertices;
  }
};

TEST_F(RunFlagsTest, TallPicturesLoseRowsOrArePadded) {
  make_frames(1);
  run("wide", {});
  EXPECT_EQ(report("wide")["input"]["height"], 56);
  for (const char* mode : {"crop", "pad"}) {
    run(mode, {"--rotate_clockwise_90", "--preprocess_mode", mode, "--export_preprocessed", path("seen")});
    EXPECT_EQ(report(mode)["settings"]["rotate_clockwise_90"], true);
    EXPECT_EQ(report(mode)["settings"]["preprocess_mode"], mode);
    const cv::Mat seen = cv::imread(path("seen/000000.png"));
    EXPECT_EQ(seen.size(), cv::Size(84, 84)) << "of a picture that is 56 x 84 when it is turned";
    const bool padded = seen.at<cv::Vec3b>(40, 1) == cv::Vec3b(255, 255, 255);
    EXPECT_EQ(padded, std::string(mode) == "pad");
    const auto intrinsics = table_of(folder_ / mode / "intrinsics.txt");
    EXPECT_EQ(intrinsics[0][9], 56);
    EXPECT_EQ(intrinsics[0][10], 84);
  }
}

TEST_F(RunFlagsTest, TheCacheIsAsLargeAsAskedFor) {
  make_frames(10);
  const std::vector<std::string> small = {"--num_scale_frames", "2", "--kv_cache_sliding_window", "3"};
  run("out", small);
  const auto cache = report("out")["cache"];
  EXPECT_EQ(cache["frame_count"], 10);
  EXPECT_EQ(cache["scale_pages"], 2);
  EXPECT_EQ(cache["live_pages"], 3);
  EXPECT_EQ(cache["special_tokens"], 60);
  std::vector<std::string> forgetful = small;
  forgetful.emplace_back("--no_trajectory_memory");
  run("forgetful", forgetful);
  EXPECT_EQ(report("forgetful")["settings"]["trajectory_memory"], false);
  EXPECT_EQ(report("forgetful")["cache"]["special_tokens"], 30) << "of 2 scale frames and a window of 3";
  EXPECT_NE(file("out/trajectory.txt"), file("forgetful/trajectory.txt"));
}

TEST_F(RunFlagsTest, CameraPassesRefineThePoseAlone) {
  make_frames(3);
  for (const char* passes : {"1", "4"}) run(passes, {"--camera_num_iterations", passes, "--save_depth"});
  EXPECT_EQ(report("1")["settings"]["camera_num_iterations"], 1);
  EXPECT_NE(file("1/trajectory.txt"), file("4/trajectory.txt"));
  EXPECT_EQ(file("1/depth/frame_000002.png"), file("4/depth/frame_000002.png"));
}

TEST_F(RunFlagsTest, HowItIsComputedChangesNoByteOnTheCpu) {
  make_frames(9);
  run("out", {});
  const std::vector<std::string> ways[] = {
      {"--backend", "sdpa"},  {"--use_sdpa"},       {"--threads", "1"}, {"--threads", "3"}, {"--no_graphs"},
      {"--patch_size", "14"}, {"--config", "tiny"}, {"--profile"},      {"--verbose"},      {"--dtype", "fp32"}};
  for (const auto& way : ways) {
    run("way", way);
    EXPECT_EQ(file("way/trajectory.txt"), file("out/trajectory.txt")) << way[0];
    EXPECT_EQ(file("way/points.ply"), file("out/points.ply")) << way[0];
  }
}

TEST_F(RunFlagsTest, VerboseTellsMore) {
  make_frames(9);
  const std::vector<std::string> saved = {"--checkpoint_every", "9"};
  EXPECT_THAT(run_program(words("out", saved)).err, testing::Not(HasSubstr("saved after 9 frames")));
  EXPECT_THAT(run_program(words("out", {"--checkpoint_every", "9", "--verbose"})).err,
              HasSubstr("saved after 9 frames"));
}

TEST_F(RunFlagsTest, PointsAreThinnedAndCutByConfidence) {
  make_frames(3);
  const std::vector<PlyVertex> all = points("all", {});
  ASSERT_EQ(all.size(), 3U * 84 * 56);
  EXPECT_NEAR(static_cast<double>(points("tenth", {"--downsample_factor", "10"}).size()),
              static_cast<double>(all.size()) / 10, 3);
  const std::vector<PlyVertex> few = points("few", {"--voxel_size", "1e6"});
  EXPECT_GE(few.size(), 1U);
  EXPECT_LE(few.size(), 8U) << "cubes that meet at the origin";
  EXPECT_EQ(points("sure", {"--conf_threshold", "1e9"}).size(), 0U);
  const std::vector<PlyVertex> scaled = points("scaled", {"--scale", "4"});
  ASSERT_EQ(scaled.size(), all.size());
  for (std::size_t i = 0; i < all.size(); i += 97) EXPECT_NEAR(scaled[i].z, 4 * all[i].z, 1e-4 * std::abs(scaled[i].z));
}

TEST_F(RunFlagsTest, WritesTheFormatsOfTheList) {
  make_frames(3);
  run("out", {"--export", "tum,npz"});
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/trajectory.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/predictions/frame_000002.npz"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/points.ply"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/poses_kitti.txt"));
}

TEST_F(RunFlagsTest, PosesOfATrajectoryMayBeOffInTimeByAsMuchAsSaid) {
  make_frames(6);
  run("plain", {});
  std::string late;
  for (const auto& row : table_of(folder_ / "plain/trajectory.txt"))
    late += std::to_string(row[0] + 0.02) + ' ' + std::to_string(row[1]) + ' ' + std::to_string(row[2]) + ' ' +
            std::to_string(row[3]) + " 0 0 0 1\n";
  write_content(folder_ / "late.txt", late);
  expect_refusal(run_program(words("out", {"--align_to", path("late.txt")})), 1,
                 AllOf(HasSubstr("late.txt"), HasSubstr("within 0.01 s")));
  run("out", {"--align_to", path("late.txt"), "--max_time_difference", "0.03"});
  EXPECT_EQ(report("out")["units"]["aligned_frames"], 6);
  EXPECT_NEAR(report("out")["units"]["scale"].get<double>(), 1, 1e-3);
}

TEST_F(RunFlagsTest, AModelThatDoesNotFitItsConfigurationIsRefused) {
  make_frames(1);
  expect_refusal(run_program(words("out", {"--config", "official"})), 1, HasSubstr("tiny.safetensors"));
  expect_refusal(run_program(words("out", {"--config", path("none.json")})), 1, HasSubstr("none.json"));
  expect_refusal(run_program(words("out", {"--device", "cpu", "--backend", "flashinfer"})), 1,
                 HasSubstr("--backend: found flashinfer"));
  expect_refusal(run_program(words("out", {"--dtype", "fp16", "--device", "cpu"})), 1, HasSubstr("fp16"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace lingbot_map::test
