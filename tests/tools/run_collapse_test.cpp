#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "export/readers.hpp"
#include "golden.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

constexpr int kFrames = 40;
constexpr int kJump = 30;  ///< the first frame that jumps

class RunCollapseTest : public RunTest {
 protected:
  void SetUp() override { model_ = make_jumping_run(); }

  std::vector<std::string> jumping(const std::string& output, const std::vector<std::string>& more) const {
    std::vector<std::string> all =
        words(output, {"--model_path", model_, "--num_scale_frames", "3", "--save_predictions"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  fs::path prediction(const std::string& output, int frame) const {
    return folder_ / output /
           ("predictions/frame_0000" + std::string(frame < 10 ? "0" : "") + std::to_string(frame) + ".npz");
  }
  std::vector<float> array(const std::string& output, int frame, const char* name) const {
    return read_npz(prediction(output, frame)).at(name).values<float>();
  }

  /// What a window that a cut began says must be what a run of its own over its frames says, moved and scaled as
  /// meta.npz tells.
  void expect_window_of_its_own(const std::string& output, std::size_t number,
                                const std::vector<std::string>& flags) const {
    const auto json = report(output);
    const auto& window = json["windows"].at(number);
    const int first = window["first_frame"];
    const int given = window["first_given"];
    const int end =
        number + 1 < json["windows"].size() ? json["windows"].at(number + 1)["first_given"].get<int>() : kFrames;
    ASSERT_EQ(window["overlap"], given - first);
    fs::create_directory(folder_ / "part");
    for (int i = first; i < kFrames; ++i)
      fs::copy(folder_ / ("frames/img_" + std::to_string(i) + ".ppm"), folder_ / "part");
    ASSERT_EQ(run_program(jumping("alone", flags)).exit_code, 0);
    const auto meta = read_npz(folder_ / output / "predictions/meta.npz");
    const float scale = meta.at("chunk_scales").values<float>().at(number);
    const auto transforms = meta.at("chunk_transforms").values<float>();
    const float* matrix = transforms.data() + 16 * number;
    for (int i = given; i < end; ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(array(output, i, "depth_conf"), array("alone", i - first, "depth_conf"));
      std::vector<float> depth = array("alone", i - first, "depth");
      for (float& value : depth) value *= scale;
      EXPECT_LE(relative_error(array(output, i, "depth"), depth), 1e-6);
      const std::vector<float> own = array("alone", i - first, "pose_enc");
      const std::vector<float> placed = array(output, i, "pose_enc");
      for (std::size_t row = 0; row < 3; ++row) {
        double centre = matrix[row * 4 + 3];
        for (std::size_t c = 0; c < 3; ++c) centre += double(scale) * matrix[row * 4 + c] * own[c];
        EXPECT_NEAR(placed[row], centre, 1e-5 * std::max(1.0, std::abs(centre)));
      }
    }
    fs::remove_all(folder_ / "part");
  }

  std::string model_;
};

TEST_F(RunCollapseTest, ResetGoesOnInANewWindow) {
  ASSERT_EQ(run_program(jumping("warned", {})).exit_code, 0);
  const auto warned = report("warned");
  EXPECT_EQ(warned["collapses"].at(0)["frame"], kJump);
  EXPECT_EQ(warned["collapses"].at(0)["outcome"], "taken");
  EXPECT_EQ(warned["counts"]["cuts"], 0);
  EXPECT_EQ(warned["windows"], nullptr);
  EXPECT_THAT(warned["warnings"].dump(), HasSubstr("frame 30: the camera moved by"));

  const Outcome outcome = run_program(jumping("out", {"--on_collapse", "reset", "--overlap_size", "6", "--verbose"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("; the run is cut before frame 30, and a new window begins"),
                    HasSubstr("window 1 from frame 24: 6 frames in common, its own results from frame 30 on")));
  const auto json = report("out");
  EXPECT_EQ(json["counts"]["frames"], kFrames);
  EXPECT_EQ(json["cuts"].at(0), kJump);
  EXPECT_EQ(json["counts"]["cuts"], json["cuts"].size());
  EXPECT_EQ(json["counts"]["jumps"], json["collapses"].size());
  EXPECT_EQ(json["collapses"].at(0)["outcome"], "cut");
  EXPECT_THAT(json["collapses"].dump(), HasSubstr("\"kept\"")) << "the pictures did change";
  EXPECT_THAT(json["warnings"].dump(),
              AllOf(HasSubstr("the run is cut before frame 30"),
                    HasSubstr("it is kept, since the last cut, at frame 30, is no more than 6 frames back")));
  EXPECT_EQ(json["settings"]["mode"], "streaming");
  EXPECT_EQ(json["settings"]["on_collapse"], "reset");
  EXPECT_EQ(json["settings"]["overlap_size"], 6);
  EXPECT_EQ(json["settings"]["window_size"], nullptr);
  EXPECT_EQ(json["windows"].size(), json["cuts"].size() + 1);
  EXPECT_EQ(json["windows"].at(0)["frames"], kJump);
  EXPECT_EQ(json["windows"].at(1)["first_frame"], kJump - 6);
  EXPECT_EQ(json["windows"].at(1)["first_given"], kJump);

  for (int i = 0; i < kJump; ++i)
    EXPECT_TRUE(content_of(prediction("out", i)) == content_of(prediction("warned", i))) << "frame " << i;
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), static_cast<std::size_t>(kFrames));
  const auto meta = read_npz(folder_ / "out/predictions/meta.npz");
  EXPECT_EQ(meta.at("frame_type").shape, "1,40");
  EXPECT_EQ(meta.at("chunk_scales").values<float>().size(), json["windows"].size());
  EXPECT_EQ(meta.at("chunk_scales").values<float>().at(0), 1);
  expect_window_of_its_own("out", 1, {"--image_folder", path("part")});
}

TEST_F(RunCollapseTest, ResetCutsAWindowShort) {
  const std::vector<std::string> windows = {"--mode", "windowed", "--window_size", "21", "--overlap_size", "5"};
  std::vector<std::string> reset = windows;
  reset.insert(reset.end(), {"--on_collapse", "reset"});
  ASSERT_EQ(run_program(jumping("warned", windows)).exit_code, 0);
  ASSERT_EQ(run_program(jumping("out", reset)).exit_code, 0);
  const auto json = report("out");
  ASSERT_FALSE(json["cuts"].empty());
  const int cut = json["cuts"].at(0);
  EXPECT_EQ(cut, report("warned")["collapses"].at(0)["frame"]);
  std::size_t number = 0;
  while (json["windows"].at(number)["first_given"] != cut) ++number;
  EXPECT_EQ(json["windows"].at(number)["first_frame"], cut - 5);
  EXPECT_EQ(json["windows"].at(number)["overlap"], 5);
  for (int i = 0; i < cut; ++i)
    EXPECT_TRUE(content_of(prediction("out", i)) == content_of(prediction("warned", i))) << "frame " << i;
  expect_window_of_its_own("out", number, {"--image_folder", path("part"), "--kv_cache_sliding_window", "18"});
}

TEST_F(RunCollapseTest, ARunThatDoesNotJumpIsTheSameWithReset) {
  for (const char* how : {"warn", "reset"})
    ASSERT_EQ(
        run_program(jumping(how, {"--first_k", "29", "--keyframe_interval", "2", "--on_collapse", how})).exit_code, 0);
  EXPECT_EQ(report("reset")["counts"]["jumps"], 0);
  for (const char* file :
       {"trajectory.txt", "poses_kitti.txt", "points.ply", "intrinsics.txt", "predictions/frame_000028.npz"})
    EXPECT_TRUE(content_of(folder_ / "warn" / file) == content_of(folder_ / "reset" / file)) << file;
}

/// Pictures that have nothing to do with each other, and cuts that compute many frames again.
TEST_F(RunCollapseTest, WhatJumpsAgainIsKeptAndTheRunEnds) {
  for (int i = 12; i < kFrames; ++i) {
    std::string content = content_of(folder_ / ("frames/img_" + std::to_string(i) + ".ppm"));
    for (std::size_t k = 20; k < content.size(); ++k)
      content[k] = static_cast<char>(i % 2 == 0 ? k * k * std::size_t(i) : (k / 50) * std::size_t(97 * i));
    write_content(folder_ / ("frames/img_" + std::to_string(i) + ".ppm"), content);
  }
  for (const char* mode : {"streaming", "windowed"}) {
    const Outcome outcome =
        run_program(jumping(mode, {"--mode", mode, "--on_collapse", "reset", "--overlap_size", "12"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto json = report(mode);
    EXPECT_EQ(json["counts"]["frames"], kFrames);
    EXPECT_THAT(json["collapses"].dump(), AllOf(HasSubstr("\"cut\""), HasSubstr("\"kept\"")));
    EXPECT_THAT(json["warnings"].dump(), HasSubstr("is no more than 12 frames back"));
    const std::vector<int> cuts = json["cuts"];
    for (std::size_t i = 1; i < cuts.size(); ++i) EXPECT_GT(cuts[i], cuts[i - 1] + 12);
    EXPECT_EQ(table_of(folder_ / mode / "trajectory.txt").size(), static_cast<std::size_t>(kFrames));
  }
}

TEST_F(RunCollapseTest, StopEndsWithTheFrameBefore) {
  const std::vector<std::string> stop = {"--on_collapse", "stop", "--checkpoint_every", "7"};
  expect_refusal(run_program(jumping("out", stop)), 1,
                 AllOf(HasSubstr("frame 30: the camera moved by"), HasSubstr("as --on_collapse stop asks")));
  const auto json = report("out");
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["counts"]["frames"], kJump);
  EXPECT_EQ(json["collapses"].at(0)["outcome"], "ended");
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), static_cast<std::size_t>(kJump));

  expect_refusal(run_program(jumping("out", {"--on_collapse", "reset", "--resume"})), 2,
                 HasSubstr("--on_collapse: found reset, but the run in"));
  EXPECT_EQ(run_program(jumping("out", {"--on_collapse", "stop", "--resume"})).exit_code, 1) << "again";
  EXPECT_EQ(report("out")["counts"]["frames"], kJump);
  ASSERT_EQ(run_program(jumping("out", {"--on_collapse", "warn", "--resume"})).exit_code, 0);
  ASSERT_EQ(run_program(jumping("warned", {})).exit_code, 0);
  EXPECT_EQ(report("out")["collapses"], report("warned")["collapses"]);
  EXPECT_EQ(report("out")["warnings"], report("warned")["warnings"]);
  EXPECT_TRUE(content_of(folder_ / "out/points.ply") == content_of(folder_ / "warned/points.ply"));
}

TEST_F(RunCollapseTest, APlanCountsWhatIsKeptForCuts) {
  const std::vector<std::string> plan = jumping("out", {"--plan", "--on_collapse", "reset", "--overlap_size", "6"});
  const Outcome outcome = run_program(plan);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("common frames"), HasSubstr("40 of 40 frames")));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

}  // namespace
}  // namespace lingbot_map::test
