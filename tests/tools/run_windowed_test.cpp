#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "export/readers.hpp"
#include "golden.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RunWindowedTest : public RunTest {
 protected:
  std::vector<std::string> windowed(const std::string& output, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = words(output, {"--mode", "windowed", "--num_scale_frames", "3"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// The golden images as pictures in the folder frames.
  static void write_pictures(const std::filesystem::path& folder, const std::vector<Image>& images) {
    std::filesystem::create_directory(folder);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const Image& image = images[i];
      std::string content = "P6 " + std::to_string(image.width) + " " + std::to_string(image.height) + " 255\n";
      content.append(image.pixels.begin(), image.pixels.end());
      write_content(folder / ("img_" + std::to_string(i) + ".ppm"), content);
    }
  }
};

TEST_F(RunWindowedTest, WritesWhatThePublicSystemComputes) {
  Golden golden(LINGBOT_MAP_TEST_DATA "/tiny.safetensors");
  write_pictures(folder_ / "frames", golden.images("images"));
  ASSERT_EQ(run_program({"synth", "--config", "tiny", "--seed", "1", "--output", path("m.safetensors")}).exit_code, 0);
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"win_a", {"--window_size", "6", "--overlap_size", "3"}},
      {"win_b", {"--window_size", "5", "--overlap_keyframes", "2", "--keyframe_interval", "2"}}};
  for (const auto& [name, flags] : cases) {
    std::vector<std::string> all = {"--model_path", path("m.safetensors"), "--kv_cache_sliding_window", "4",
                                    "--verbose",    "--save_predictions"};
    all.insert(all.end(), flags.begin(), flags.end());
    const Outcome outcome = run_program(windowed(name, all));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("window 5 from frame 15: "));

    const std::filesystem::path predictions = folder_ / name / "predictions";
    const auto meta = read_npz(predictions / "meta.npz");
    const std::string prefix = std::string(name) + ".";
    EXPECT_EQ(meta.at("frame_type").shape, "1,20");
    EXPECT_EQ(meta.at("frame_type").values<std::uint8_t>(), golden.bytes(prefix + "frame_type"));
    const auto keyframes = meta.at("is_keyframe").values<std::uint8_t>();
    EXPECT_EQ(std::vector<float>(keyframes.begin(), keyframes.end()), golden.floats(prefix + "is_keyframe"));
    EXPECT_THAT(outcome.err, HasSubstr(std::to_string(std::ranges::count(keyframes, 1)) + " kept; results in "));
    EXPECT_EQ(meta.at("chunk_scales").type, "<f4");
    EXPECT_EQ(meta.at("chunk_scales").shape, "6");
    EXPECT_EQ(meta.at("chunk_transforms").shape, "6,4,4");
    std::vector<float> pose;
    std::vector<float> depth;
    std::vector<float> depth_conf;
    for (int i = 0; i < 20; ++i) {
      const auto frame = read_npz(predictions / (i < 10 ? "frame_00000" + std::to_string(i) + ".npz"
                                                        : "frame_0000" + std::to_string(i) + ".npz"));
      const auto append = [&frame](std::vector<float>& all_frames, const char* array) {
        const auto values = frame.at(array).values<float>();
        all_frames.insert(all_frames.end(), values.begin(), values.end());
      };
      append(pose, "pose_enc");
      append(depth, "depth");
      append(depth_conf, "depth_conf");
    }
    EXPECT_LE(relative_error(pose, golden.floats(prefix + "pose_enc")), 1e-5);
    EXPECT_LE(relative_error(depth, golden.floats(prefix + "depth")), 1e-5);
    EXPECT_LE(relative_error(depth_conf, golden.floats(prefix + "depth_conf")), 1e-5);
    for (const char* array : {"chunk_scales", "chunk_transforms"})
      EXPECT_LE(relative_error(meta.at(array).values<float>(), golden.floats(prefix + array)), 1e-5);
    EXPECT_EQ(table_of(folder_ / name / "trajectory.txt").size(), 20U);
  }
}

TEST_F(RunWindowedTest, ReportsItsWindows) {
  make_frames(20);
  ASSERT_EQ(run_program(windowed("out", {"--window_size", "7", "--overlap_size", "2"})).exit_code, 0);
  const auto json = report("out");
  EXPECT_EQ(json["settings"]["mode"], "windowed");
  EXPECT_EQ(json["settings"]["window_size"], 7);
  EXPECT_EQ(json["settings"]["overlap_size"], 2);
  EXPECT_EQ(json["settings"]["overlap_keyframes"], nullptr);
  EXPECT_EQ(json["settings"]["window_alignment"], "exact");
  EXPECT_EQ(json["settings"]["keyframe_interval"], 1);
  EXPECT_EQ(json["settings"]["keyframe_interval_is_automatic"], true);
  EXPECT_EQ(json["counts"]["frames"], 20);
  EXPECT_EQ(json["cache"]["frame_count"], 5) << "of the last window";
  ASSERT_EQ(json["windows"].size(), 4U);
  const int first[] = {0, 5, 10, 15};
  const int frames[] = {7, 7, 7, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& window = json["windows"][i];
    EXPECT_EQ(window["first_frame"], first[i]);
    EXPECT_EQ(window["frames"], frames[i]);
    EXPECT_EQ(window["overlap"], i == 0 ? 0 : 2);
    EXPECT_EQ(window["aligned"], true);
    EXPECT_EQ(window["transform"].size(), 16U);
    EXPECT_EQ(window["depth_residual"].is_null(), i == 0);
    EXPECT_EQ(window["rotation_residual_degrees"].is_null(), i == 0);
  }
  ASSERT_EQ(run_program(words("streamed")).exit_code, 0);
  EXPECT_EQ(report("streamed")["windows"], nullptr);
  EXPECT_EQ(report("streamed")["settings"]["window_size"], nullptr);
}

TEST_F(RunWindowedTest, AShortSequenceIsOneWindow) {
  make_frames(5);
  ASSERT_EQ(run_program(windowed("out", {"--save_predictions"})).exit_code, 0);
  const auto meta = read_npz(folder_ / "out/predictions/meta.npz");
  EXPECT_EQ(meta.at("chunk_scales").values<float>(), std::vector<float>{1});
  EXPECT_FALSE(meta.contains("chunk_transforms"));
  EXPECT_EQ(report("out")["windows"].size(), 1U);
}

/// Poses of windows placed robustly on the same frames differ from the public ones, and the report says which it was.
TEST_F(RunWindowedTest, PlacesRobustlyWhenAskedTo) {
  make_frames(16);
  for (const char* how : {"exact", "robust"})
    ASSERT_EQ(
        run_program(windowed(how, {"--window_size", "7", "--overlap_size", "3", "--window_alignment", how})).exit_code,
        0);
  EXPECT_EQ(report("robust")["settings"]["window_alignment"], "robust");
  EXPECT_EQ(content_of(folder_ / "exact/intrinsics.txt"), content_of(folder_ / "robust/intrinsics.txt"));
  EXPECT_EQ(table_of(folder_ / "robust/trajectory.txt").size(), 16U);
}

TEST_F(RunWindowedTest, KeepsFramesByFlowInBothModes) {
  make_frames(18);
  const std::vector<std::string> flow = {"--flow_threshold", "1e12", "--max_non_keyframe_gap", "3"};
  std::vector<std::string> more = flow;
  more.insert(more.end(), {"--num_scale_frames", "3"});
  const Outcome streamed = run_program(words("streamed", more));
  ASSERT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_THAT(streamed.err, HasSubstr("keyframes: by flow, above 1e+12 pixels or after 3 frames"));
  EXPECT_EQ(report("streamed")["counts"]["keyframes"], 5);
  EXPECT_EQ(report("streamed")["counts"]["non_keyframes"], 10);
  EXPECT_EQ(report("streamed")["settings"]["flow_threshold"], 1e12);
  EXPECT_EQ(report("streamed")["settings"]["max_non_keyframe_gap"], 3);

  more = flow;
  more.insert(more.end(), {"--window_size", "5", "--overlap_size", "2"});
  const Outcome windows = run_program(windowed("windows", more));
  ASSERT_EQ(windows.exit_code, 0) << windows.err;
  EXPECT_THAT(windows.err, HasSubstr("windows: at least 5 frames each, up to 2 in common"));
  const auto json = report("windows");
  EXPECT_EQ(json["counts"]["frames"], 18);
  ASSERT_EQ(json["windows"].size(), 4U);  // of 3 scale frames, a keyframe, two others and a keyframe
  EXPECT_EQ(json["windows"][0]["frames"], 7);
  EXPECT_EQ(json["windows"][1]["first_frame"], 5);
}

TEST_F(RunWindowedTest, SaysThatWindowsAreNotPlacedWithoutAnOverlap) {
  make_frames(9);
  const Outcome outcome = run_program(windowed("out", {"--window_size", "5", "--overlap_size", "0"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("without an overlap windows are not placed on each other"));
  EXPECT_EQ(report("out")["windows"][1]["aligned"], false);
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 9U);
}

TEST_F(RunWindowedTest, ABadFrameEndsTheRunAfterThoseBefore) {
  make_frames(15);
  write_content(folder_ / "frames/img_12.ppm", picture(12).substr(0, 1000));
  expect_refusal(run_program(windowed("out", {"--window_size", "7", "--overlap_size", "4"})), 1,
                 HasSubstr("img_12.ppm"));
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 12U) << "those that waited for the next window as well";
  EXPECT_EQ(report("out")["windows"].size(), 3U);
}

TEST_F(RunWindowedTest, TheSecondRunIsTheFirst) {
  make_frames(22);
  for (const char* output : {"one", "two"})
    ASSERT_EQ(run_program(windowed(output, {"--window_size", "8", "--overlap_size", "3", "--quiet"})).exit_code, 0);
  for (const char* file : {"trajectory.txt", "points.ply", "poses_kitti.txt", "intrinsics.txt"})
    EXPECT_TRUE(content_of(folder_ / "one" / file) == content_of(folder_ / "two" / file)) << file;
}

TEST_F(RunWindowedTest, ThePlanCountsAWindow) {
  make_frames(1);
  for (int i = 1; i < 300; ++i)
    std::filesystem::create_hard_link(folder_ / "frames/img_0.ppm",
                                      folder_ / ("frames/img_" + std::to_string(i) + ".ppm"));
  const Outcome outcome = run_program(windowed("out", {"--plan", "--window_size", "20", "--overlap_size", "6"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("patches of 3 scale frames and a window of 17"), HasSubstr("20 at a time"),
                                 HasSubstr("common frames")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(RunWindowedTest, RefusesWindowsThatWouldLoseFrames) {
  make_frames(1);
  expect_refusal(run_program(windowed("out", {"--window_size", "64", "--overlap_size", "64"})), 2,
                 AllOf(StartsWith("--mode windowed: overlap_size is 64"), HasSubstr("a window has 64 frames")));
  expect_refusal(run_program(windowed("out", {"--window_size", "3", "--flow_threshold", "5", "--overlap_size", "2"})),
                 2, HasSubstr("no frame in common"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace lingbot_map::test
