#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"
#include "run_fixture.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kData = LINGBOT_MAP_TEST_DATA "/evaluation/";

class EvalCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_content(folder_ / name, content);
    return path(name);
  }

  /// Judges the stored estimate of a format, with more words.
  static Outcome eval(const std::string& format, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"eval", "--estimate", kData + format + "_estimate.txt", "--truth",
                                      kData + format + "_truth.txt"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  static nlohmann::json json_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  /// A float32 depth map of 6 x 4 pixels, rising by 1 from `first` on, all times `factor`.
  static std::string depth(float first, float factor = 1) {
    std::string file("\x93NUMPY\x01\x00\x3a\x00", 10);
    std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6)}";
    dictionary.resize(57, ' ');
    file += dictionary + '\n';
    for (int i = 0; i < 24; ++i) {
      const float value = factor * (first + static_cast<float>(i));
      file.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return file;
  }
  /// A folder with five poses round a bend and their depth; the scale of both is free.
  void make_scene(const std::string& name, double scale, const std::string& trajectory, int step = 1) const {
    std::string poses;
    for (int i = 0; i < 5; i += step) {
      poses += std::to_string(i / 10.0) + ' ' + std::to_string(scale * i) + ' ' + std::to_string(scale * i * i) +
               " 0 0 0 0 1\n";
      write(name + "/depth/" + std::to_string(i / step) + ".npy", depth(static_cast<float>(i + 1)));
    }
    write(name + "/" + trajectory, poses);
  }

  TemporaryFolder folder_;
};

TEST_F(EvalCommand, PrintsATable) {
  const Outcome outcome = eval("tum");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"rmse", "ATE (m)", "0.071941", "RPE rotation (deg)",
                           "42 pairs of 43 estimated and 90 true ones", "pose AUC", "18.243 m", "drift"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("AbsRel")));
}

TEST_F(EvalCommand, PrintsOrWritesJson) {
  const nlohmann::json printed = json_of(eval("tum", {"--json", "-"}));
  EXPECT_NEAR(printed.at("/trajectory/ate/rmse"_json_pointer), 0.07194147673234284, 1e-9);
  EXPECT_EQ(printed.at("/trajectory/poses"_json_pointer).size(), 42);
  EXPECT_TRUE(printed.at("depth").is_null());
  const Outcome written = eval("tum", {"--json", path("e.json")});
  EXPECT_THAT(written.out, HasSubstr("ATE"));
  EXPECT_EQ(nlohmann::json::parse(content_of(folder_ / "e.json")), printed);
}

TEST_F(EvalCommand, ReadsKittiAndTakesEveryAlignment) {
  EXPECT_NEAR(
      json_of(eval("kitti", {"--json", "-", "--delta", "2", "--all-pairs"})).at("/trajectory/pairs"_json_pointer), 40,
      0);
  double last = 0;
  for (const char* align : {"sim3", "se3", "scale"}) {
    const double rmse =
        json_of(eval("kitti", {"--json", "-", "--align", align})).at("/trajectory/ate/rmse"_json_pointer);
    EXPECT_GT(rmse, last) << align;
    last = rmse;
  }
  const nlohmann::json as_they_are = json_of(eval("kitti", {"--json", "-", "--align", "none"}));
  EXPECT_EQ(as_they_are.at("/trajectory/truth_from_estimate/scale"_json_pointer), 1);
}

TEST_F(EvalCommand, FindsTrajectoriesAndDepthInFolders) {
  make_scene("scene", 2, "groundtruth.txt");
  make_scene("run", 1, "trajectory.txt", 2);  // every second frame
  const nlohmann::json found =
      json_of(run_program({"eval", "--estimate", path("run"), "--truth", path("scene"), "--json", "-"}));
  EXPECT_NEAR(found.at("/trajectory/truth_from_estimate/scale"_json_pointer), 2, 1e-9);
  EXPECT_NEAR(found.at("/trajectory/ate/max"_json_pointer), 0, 1e-9);
  EXPECT_EQ(found.at("/depth/frames"_json_pointer).size(), 3);
  EXPECT_EQ(found.at("/depth/abs_rel"_json_pointer), 0);
  EXPECT_EQ(found.at("/settings/truth"_json_pointer), path("scene/groundtruth.txt"));
}

TEST_F(EvalCommand, ComparesDepthAlone) {
  write("a/0.npy", depth(1));
  write("b/frame_0.npy", depth(1));
  const Outcome outcome = run_program({"eval", "--depth_estimate", path("a"), "--depth_truth", path("b")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("depth"), HasSubstr("AbsRel"), HasSubstr("24 in 1 frames")));
}

TEST_F(EvalCommand, DepthIsScaledAndCutAsAskedFor) {
  for (const int frame : {0, 1}) {  // true depth is the estimated one times 2, and times 4
    write("a/" + std::to_string(frame) + ".npy", depth(4));
    write("b/" + std::to_string(frame) + ".npy", depth(4, frame == 0 ? 2.F : 4.F));
  }
  const auto judged = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"eval", "--depth_estimate", path("a"), "--depth_truth", path("b"), "--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    return json_of(run_program(words))["depth"];
  };
  EXPECT_NEAR(judged({"--depth_scale", "frame"})["abs_rel"], 0, 1e-6);
  EXPECT_NEAR(judged({"--depth_scale", "sequence"})["abs_rel"], (0.5 + 0.25) / 2, 1e-6) << "all times 3";
  EXPECT_NEAR(judged({"--depth_scale", "none"})["abs_rel"], (0.5 + 0.75) / 2, 1e-6);
  EXPECT_EQ(judged({})["pixels"], 48);
  EXPECT_EQ(judged({"--max_depth", "16"})["pixels"], 5 + 1) << "4 to 8 times 2, and 4 times 4";
}

TEST_F(EvalCommand, PosesFurtherApartInTimeAreNoPair) {
  EXPECT_EQ(json_of(eval("tum", {"--json", "-", "--max_time_difference", "1"}))["trajectory"]["poses"].size(), 43);
  expect_refusal(eval("tum", {"--max_time_difference", "0"}), 1, HasSubstr("pose"));
}

TEST_F(EvalCommand, AFormatThatIsNamedIsExpected) {
  EXPECT_EQ(eval("kitti", {"--format", "kitti"}).exit_code, 0);
  EXPECT_EQ(eval("tum", {"--format", "tum"}).exit_code, 0);
  expect_refusal(eval("kitti", {"--format", "tum"}), 1, HasSubstr("kitti_"));
}

TEST_F(EvalCommand, DepthThatDoesNotFitCostsTheTrajectoryNothingUnlessAskedFor) {
  make_scene("scene", 1, "groundtruth.txt");
  make_scene("run", 1, "trajectory.txt");
  write("run/depth/3.npy", "broken");
  std::vector<std::string> words = {"eval", "--estimate", path("run"), "--truth", path("scene")};
  const Outcome found = run_program(words);
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_THAT(found.out, HasSubstr("ATE"));
  EXPECT_THAT(found.err, AllOf(HasSubstr("warning: depth is not compared: "), HasSubstr("3.npy: is no NumPy array")));
  words.insert(words.end(), {"--depth_estimate", path("run/depth"), "--depth_truth", path("scene/depth")});
  expect_refusal(run_program(words), 1, HasSubstr("3.npy: is no NumPy array"));
}

TEST_F(EvalCommand, RefusesUselessInput) {
  const std::string truth = kData + "tum_truth.txt";
  const auto refused = [&](const std::string& estimate, const char* text) {
    expect_refusal(run_program({"eval", "--estimate", estimate, "--truth", truth}), 1, HasSubstr(text));
  };
  const std::string pose = " 1 2 3 0 0 0 1\n";
  refused(path("absent.txt"), "absent.txt");
  refused(write("empty.txt", ""), "empty.txt: found no line with a pose");
  refused(write("early.txt", "0" + pose + "1" + pose), "early.txt: found times of 0 to 1 s, no pose of which is in");
  refused(write("twice.txt", "1" + pose + "1" + pose), "twice.txt: line 2: found the time stamp 1 after 1");
  refused(write("back.txt", "1" + pose + "0" + pose), "back.txt: line 2: found the time stamp 0 after 1");
  refused(write("nan.txt", "1 nan 2 3 0 0 0 1\n"), "nan.txt: line 1: found \"nan\"");
  refused(write("long.txt", "1 1 2 3 0 0 0 2\n"), "long.txt: line 1: found a quaternion of length 2");
  refused(write("one.txt", "1305031102.1753" + pose), "found 1 pair of poses");
  refused(write("still.txt", "1305031102.1753" + pose + "1305031102.208633" + pose + "1305031102.241967" + pose),
          "points that are all in one place");
  refused(folder_.path().string(), "found neither trajectory.txt nor groundtruth.txt");
}

TEST_F(EvalCommand, RefusesFlagsThatMakeNoSense) {
  const auto refused = [&](const std::vector<std::string>& more, const char* text) {
    expect_refusal(eval("tum", more), 2, HasSubstr(text));
  };
  refused({"--align", "affine"}, "--align: found \"affine\", expected sim3, se3, scale or none");
  refused({"--format", "euroc"}, "--format: found \"euroc\"");
  refused({"--max_time_difference", "-1"}, "--max_time_difference: found -1");
  refused({"--max_time_difference", "nan"}, "--max_time_difference: found nan");
  refused({"--delta", "0"}, "--delta: found 0, expected 1 or more");
  refused({"--delta", "many"}, "--delta");
  refused({"--depth_scale", "linear"}, "--depth_scale");
  refused({"--max_depth", "0"}, "--max_depth: found 0");
  refused({"--depth_estimate_factor", "0"}, "--depth_estimate_factor: found 0");
  refused({"--depth_truth_factor", "-5"}, "--depth_truth_factor: found -5");
  refused({"--depth_truth", "somewhere"}, "--depth_truth: found it without --depth_estimate");
  expect_refusal(run_program({"eval"}), 2, HasSubstr("found nothing to judge"));
  expect_refusal(run_program({"eval", "--truth", "x"}), 2, HasSubstr("--truth: found it without --estimate"));
  expect_refusal(run_program({"eval", "--depth_estimate", "a", "--depth_truth", "b", "--plot", "c"}), 2,
                 HasSubstr("--plot: found it without trajectories"));
  expect_refusal(eval("tum", {"--delta", "42"}), 1, HasSubstr("found 42 pairs of poses, expected more than delta"));
}

}  // namespace
}  // namespace lingbot_map::test
