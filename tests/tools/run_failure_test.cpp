#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "export/readers.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class RunFailureTest : public RunTest {
 protected:
  /// More frames than a test has time for.
  void make_many_frames() const {
    make_frames(1);
    for (int i = 1; i < 6000; ++i)
      std::filesystem::create_hard_link(folder_ / "frames/img_0.ppm",
                                        folder_ / ("frames/img_" + std::to_string(i) + ".ppm"));
  }
  /// Waits until the run has written some frames. Files appear one after the other, and in a frame the trajectory is
  /// written before the poses.
  void wait_for_frames(std::size_t count) const {
    const std::filesystem::path poses = folder_ / "out/poses_kitti.txt";
    for (int i = 0; i < 3000; ++i) {
      std::this_thread::sleep_for(10ms);
      if (std::filesystem::exists(poses) && table_of(poses).size() >= count) return;
    }
    FAIL() << "no frames were written";
  }
};

TEST_F(RunFailureTest, WrongUsageExitsWithTwo) {
  make_frames(1);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--no_such_flag"}, "no_such_flag"},
      {{"--stride", "0"}, "--stride: found 0"},
      {{"--stride", "x"}, "--stride"},
      {{"--fps", "nan"}, "--fps: found nan"},
      {{"--image-size", "100"}, "--image_size: found 100"},
      {{"--output", path("frames")}, "--image_folder"},
      {{"--quiet", "--verbose"}, "contradict"},
  };
  for (const auto& [more, expected] : cases) expect_refusal(run_program(words("out", more)), 2, HasSubstr(expected));
  expect_refusal(run_program({"run", "--model_path", model(), "--output", path("out")}), 2, StartsWith("no input"));
  expect_refusal(run_program({"jump"}), 2, HasSubstr("jump"));
  expect_refusal(run_program({}), 2, HasSubstr("subcommand"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(RunFailureTest, WhatThisBuildLacksExitsWithOne) {
  make_frames(1);
  expect_refusal(run_program(words("out", {"--dtype", "fp16", "--device", "cpu"})), 1, StartsWith("dtype fp16"));
  expect_refusal(run_program(words("out", {"--backend", "flashinfer", "--device", "cpu"})), 1,
                 StartsWith("--backend: found flashinfer"));
  expect_refusal(run_program(words("out", {"--device", "cuda:1000"})), 1, HasSubstr("cuda:1000"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(RunFailureTest, InputMustBeThere) {
  expect_refusal(run_program(words("out")), 1, HasSubstr("frames"));
  std::filesystem::create_directory(folder_ / "frames");
  expect_refusal(run_program(words("out")), 1, AllOf(HasSubstr("frames"), HasSubstr("image")));
  write_content(folder_ / "frames/a.png", "broken");
  expect_refusal(run_program(words("out", {"--skip_bad_frames"})), 1, HasSubstr("frames"));
}

TEST_F(RunFailureTest, TheModelMustBeOne) {
  make_frames(1);
  write_content(folder_ / "m.pt", "<html>not found</html>");
  for (const char* name : {"m.pt", "missing.pt", "frames"})
    expect_refusal(
        run_program({"run", "--model_path", path(name), "--image_folder", path("frames"), "--output", path("out")}), 1,
        HasSubstr(name));
}

TEST_F(RunFailureTest, TheOutputMustBeWritable) {
  make_frames(1);
  write_content(folder_ / "file", "");
  expect_refusal(run_program(words("file")), 1, HasSubstr(path("file")));
  expect_refusal(run_program(words("file/out")), 1, HasSubstr(path("file/out")));
}

TEST_F(RunFailureTest, ABadFrameEndsTheRunAfterThoseBefore) {
  make_frames(15);
  write_content(folder_ / "frames/img_10.ppm", picture(10).substr(0, 1000));
  expect_refusal(run_program(words("out")), 1, AllOf(HasSubstr("img_10.ppm"), HasSubstr("--skip_bad_frames")));
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 10U);
  EXPECT_EQ(table_of(folder_ / "out/poses_kitti.txt").size(), 10U);
  EXPECT_EQ(read_ply(folder_ / "out/points.ply").bytes_after, 0U);
  const auto json = report("out");
  EXPECT_EQ(json["status"], "failed");
  EXPECT_THAT(json["error"].get<std::string>(), HasSubstr("img_10.ppm"));
  EXPECT_EQ(json["counts"]["frames"], 10);
}

TEST_F(RunFailureTest, ARunThatCannotFitIsRefusedBeforeItStarts) {
  make_many_frames();
  expect_refusal(run_program(words("out", {"--image_size", "8400", "--kv_cache_sliding_window", "5000",
                                           "--keyframe_interval", "1", "--device", "cpu"})),
                 1,
                 AllOf(StartsWith("memory: this run takes "), HasSubstr("are free"),
                       HasSubstr("--kv_cache_sliding_window (now 5000)"), HasSubstr("--keyframe_interval (now 1)")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(RunFailureTest, ABadFrameIsSkippedOnRequest) {
  make_frames(15);
  write_content(folder_ / "frames/img_3.ppm", "");
  write_content(folder_ / "frames/img_10.ppm", picture(10).substr(0, 1000));
  const Outcome outcome = run_program(words("out", {"--skip_bad_frames"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("img_3.ppm"), HasSubstr("img_10.ppm")));
  const auto trajectory = table_of(folder_ / "out/trajectory.txt");
  ASSERT_EQ(trajectory.size(), 13U);
  EXPECT_DOUBLE_EQ(trajectory[3][0], 0.4);  // the gap stays
  const auto json = report("out");
  EXPECT_EQ(json["counts"]["skipped_bad_frames"], 2);
  EXPECT_EQ(json["status"], "complete");
}

TEST_F(RunFailureTest, NamesWithoutTimesAreRefused) {
  std::filesystem::create_directory(folder_ / "frames");
  write_content(folder_ / "frames/left.ppm", picture(1));
  expect_refusal(run_program(words("out", {"--timestamps", "name"})), 1,
                 AllOf(HasSubstr("left.ppm"), HasSubstr("--timestamps")));
}

TEST_F(RunFailureTest, AFullDiskLeavesWholeFiles) {
  make_frames(12);
  // Room for every small file, but not for an archive.
  expect_refusal(run_program(words("out", {"--save_predictions"}), 50'000), 1, HasSubstr("frame_000000.npz"));
  EXPECT_EQ(report("out")["status"], "failed");
  EXPECT_EQ(std::filesystem::exists(folder_ / "out/predictions/frame_000000.npz"), false);
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), table_of(folder_ / "out/poses_kitti.txt").size());
  EXPECT_EQ(read_ply(folder_ / "out/points.ply").bytes_after, 0U);
}

TEST_F(RunFailureTest, CtrlCFinishesTheFiles) {
  make_many_frames();
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program(words("out", {"--save_predictions", "--keyframe_interval", "50"}));
    wait_for_frames(12);
    program.send(signal);
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("interrupted"), HasSubstr("results in")));
    const auto json = report("out");
    EXPECT_EQ(json["status"], "interrupted");
    const std::size_t frames = json["counts"]["frames"];
    EXPECT_GE(frames, 12U);
    EXPECT_LT(frames, 6000U);
    EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), frames);
    EXPECT_EQ(read_ply(folder_ / "out/points.ply").bytes_after, 0U);
    EXPECT_EQ(read_npz(folder_ / "out/predictions/meta.npz").at("frame_type").shape, "1," + std::to_string(frames));
    std::filesystem::remove_all(folder_ / "out");
  }
}

TEST_F(RunFailureTest, AKilledRunLeavesReadableFiles) {
  make_many_frames();
  Program program(words("out", {"--quiet", "--keyframe_interval", "50"}));
  wait_for_frames(12);
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().signal, SIGKILL);
  EXPECT_EQ(report("out")["status"], "running");
  EXPECT_GE(table_of(folder_ / "out/trajectory.txt").size(), 12U);
  EXPECT_NO_THROW(read_ply(folder_ / "out/points.ply"));
}

}  // namespace
}  // namespace lingbot_map::test
