#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "export/readers.hpp"
#include "run_fixture.hpp"

namespace lingbot_map {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_refusal;
using test::Outcome;
using test::run_program;
using test::table_of;
using testing::AllOf;
using testing::HasSubstr;

const std::string kAllFormats = "ply,glb,colmap,nerfstudio,tum,kitti,npz";
/// The synthetic network's fields of view are no cameras; these are.
const std::vector<std::string> kCamera = {"--intrinsics", "100,100,42,28"};

/// The content of every file below a folder, by its path; run.json left out.
std::map<std::string, std::string> tree(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename() != "run.json")
      files[fs::relative(entry.path(), folder).string()] = content_of(entry.path());
  return files;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class ExportCommand : public test::RunTest {
 protected:
  void run(const std::string& output, const std::vector<std::string>& more) {
    const Outcome outcome = run_program(words(output, more));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  std::vector<std::string> export_words(const std::string& output, const std::vector<std::string>& more) const {
    return std::vector<std::string>{"export", path("plain/predictions"), "--output", path(output)} + more;
  }
  /// Runs once without and once with the options, exports the first run's predictions with them, and expects the same.
  void expect_the_same_as_a_run(const std::vector<std::string>& options) {
    make_frames(6);
    run("plain", {"--save_predictions"});
    run("live", options);
    const Outcome outcome = run_program(export_words("again", options));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto live = tree(path("live"));
    const auto again = tree(path("again"));
    EXPECT_GT(live.size(), 2);
    for (const auto& [name, content] : live) {
      ASSERT_TRUE(again.contains(name)) << name;
      EXPECT_TRUE(again.at(name) == content) << name;
    }
    EXPECT_EQ(live.size(), again.size());
  }
  /// A trajectory whose poses are those of the run `plain`, moved: x' = 2 * (z, x, y) + (100, 200, 300).
  std::string moved_trajectory(double time_offset = 0) const {
    std::string text = "# moved\n";
    for (const auto& row : table_of(path("plain") + "/trajectory.txt")) {
      std::ostringstream line;
      line.precision(12);
      line << row[0] + time_offset << ' ' << 2 * row[3] + 100 << ' ' << 2 * row[1] + 200 << ' ' << 2 * row[2] + 300
           << " 0 0 0 1\n";
      text += line.str();
    }
    test::write_content(path("truth.txt"), text);
    return path("truth.txt");
  }
};

TEST_F(ExportCommand, GivesTheBytesThatARunWouldHave) { expect_the_same_as_a_run({}); }

TEST_F(ExportCommand, GivesTheBytesOfEveryFormat) {
  expect_the_same_as_a_run(std::vector<std::string>{"--export", kAllFormats, "--conf_threshold", "0",
                                                    "--downsample_factor", "3", "--voxel_size", "0.01", "--scale",
                                                    "2.5"} +
                           kCamera);
}

TEST_F(ExportCommand, AlignsAsARunDoes) {
  make_frames(6);
  run("plain", {"--save_predictions"});
  const std::vector<std::string> options =
      std::vector<std::string>{"--export", kAllFormats, "--conf_threshold", "0", "--align_to", moved_trajectory()} +
      kCamera;
  run("live", options + std::vector<std::string>{"--save_depth"});
  const Outcome outcome = run_program(export_words("again", options));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("scale 2, 6 frames"));
  auto live = tree(path("live"));
  std::erase_if(live,
                [](const auto& file) { return file.first.find("depth") == 0 || file.first.find("confidence") == 0; });
  EXPECT_TRUE(live == tree(path("again")));
  EXPECT_FALSE(fs::exists(path("live/network_units")));
  EXPECT_FALSE(fs::exists(path("live/aligned.part")));

  const auto before = table_of(path("plain/trajectory.txt"));
  const auto after = table_of(path("live/trajectory.txt"));
  ASSERT_EQ(after.size(), 6);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_NEAR(after[i][1], 2 * before[i][3] + 100, 1e-4);
    EXPECT_NEAR(after[i][3], 2 * before[i][2] + 300, 1e-4);
  }
  const auto depth = test::read_npz(path("plain/predictions/frame_000003.npz")).at("depth").values<float>();
  const auto scaled = test::read_npz(path("live/predictions/frame_000003.npz")).at("depth").values<float>();
  EXPECT_NEAR(scaled[100], 2 * depth[100], 1e-4 * std::abs(depth[100]));
  const auto units = report("live").at("units");
  EXPECT_NEAR(units.at("scale").get<double>(), 2, 1e-5);
  EXPECT_EQ(units.at("aligned_frames"), 6);
  EXPECT_THAT(units.at("text").get<std::string>(), HasSubstr("truth.txt"));
  EXPECT_THAT(content_of(path("live/trajectory.txt")), HasSubstr("--align_to"));
}

TEST_F(ExportCommand, PosesOfATrajectoryMayBeOffInTimeByAsMuchAsSaid) {
  make_frames(6);
  run("plain", {"--save_predictions"});
  const std::string late = moved_trajectory(0.02);
  expect_refusal(run_program(export_words("again", {"--quiet", "--align_to", late})), 1, HasSubstr("within 0.01 s"));
  const Outcome outcome =
      run_program(export_words("again", {"--align_to", late, "--max_time_difference", "0.03", "--quiet"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(table_of(path("again/trajectory.txt")).size(), 6U);
}

TEST_F(ExportCommand, FramesWithoutTimesHaveThoseOfARate) {
  make_frames(3);
  run("plain", {"--save_predictions"});
  fs::remove(path("plain/predictions/frames.jsonl"));
  for (const auto& [fps, last] : {std::pair{"10", 0.2}, std::pair{"4", 0.5}}) {
    ASSERT_EQ(run_program(export_words("again", {"--fps", fps})).exit_code, 0);
    EXPECT_DOUBLE_EQ(table_of(path("again/trajectory.txt"))[2][0], last);
  }
}

TEST_F(ExportCommand, PointsAreThoseAskedFor) {
  make_frames(3);
  run("plain", {"--save_predictions"});
  const auto count = [&](const std::vector<std::string>& more) {
    const Outcome outcome = run_program(export_words(
        "again", std::vector<std::string>{"--conf_threshold", "-1", "--downsample_factor", "1"} + kCamera + more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return test::read_ply(path("again/points.ply")).vertices.size();
  };
  EXPECT_EQ(count({}), 3U * 84 * 56);
  EXPECT_NEAR(static_cast<double>(count({"--downsample_factor", "10"})), 3 * 84 * 56 / 10.0, 3);
  EXPECT_LE(count({"--voxel_size", "1e6"}), 8U);
  EXPECT_EQ(count({"--conf_threshold", "1e9"}), 0U);
}

TEST_F(ExportCommand, AnAlignmentThatDoesNotFitLeavesTheResults) {
  make_frames(6);
  run("plain", {"--save_predictions"});
  const std::string truth = moved_trajectory(1000);
  expect_refusal(run_program(words("live", {"--align_to", truth})), 1,
                 AllOf(HasSubstr("truth.txt"), HasSubstr("within 0.01 s"), HasSubstr("lingbot-map export")));
  EXPECT_EQ(content_of(path("live/trajectory.txt")), content_of(path("plain/trajectory.txt")));
  EXPECT_EQ(content_of(path("live/points.ply")), content_of(path("plain/points.ply")));
  EXPECT_EQ(report("live").at("status"), "failed");
  // The command that the message names, with times that fit.
  const Outcome outcome =
      run_program({"export", path("live/network_units"), "--output", path("later"), "--align_to", moved_trajectory(0)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(table_of(path("later/trajectory.txt")).size(), 6);
}

TEST_F(ExportCommand, RefusesTrajectoriesThatNothingCanBeAlignedTo) {
  make_frames(6);
  run("plain", {"--save_predictions"});
  test::write_content(path("empty.txt"), "");
  test::write_content(path("short.txt"), "0 0 0 0 0 0 0 1\n0.1 1 0 0 0 0 0 1\n");
  test::write_content(path("line.txt"), "0 0 0 0 0 0 0 1\n0.1 1 0 0 0 0 0 1\n0.2 2 0 0 0 0 0 1\n");
  test::write_content(path("one.txt"), "0 0 0 0 0 0 0 1\n50.1 1 0 0 0 0 0 1\n50.2 2 1 0 0 0 0 1\n");
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"missing.txt", "missing.txt"},
                                                        {"empty.txt", "empty.txt"},
                                                        {"short.txt", "found 2 poses, expected at least 3"},
                                                        {"line.txt", "straight line"},
                                                        {"one.txt", "found poses for 1 frames, expected at least 3"}}) {
    expect_refusal(run_program(export_words("x", {"--quiet", "--align_to", path(name)})), 1, HasSubstr(text));
    if (name != "line.txt" && name != "one.txt") {  // a run says so before its first frame
      expect_refusal(run_program(words("y", {"--align_to", path(name)})), 1, HasSubstr(text));
      EXPECT_FALSE(fs::exists(path("y")));
    }
  }
}

TEST_F(ExportCommand, RefusesImpossibleValues) {
  make_frames(2);
  run("plain", {"--save_predictions"});
  for (const auto& [words, text] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--export", "obj"}, "--export: found \"obj\""},
           {{"--export", ""}, "--export"},
           {{"--export", "ply,,glb"}, "--export"},
           {{"--voxel_size", "0"}, "--voxel_size: found 0"},
           {{"--voxel_size", "-1"}, "--voxel_size: found -1"},
           {{"--voxel_size", "nan"}, "--voxel_size: found nan"},
           {{"--scale", "0"}, "--scale: found 0"},
           {{"--scale", "-2"}, "--scale: found -2"},
           {{"--scale", "inf"}, "--scale: found inf"},
           {{"--scale", "2", "--align_to", "t.txt"}, "--scale and --align_to contradict"},
           {{"--max_time_difference", "-1"}, "--max_time_difference: found -1"},
           {{"--intrinsics", "1,2,3"}, "--intrinsics: found \"1,2,3\""},
           {{"--intrinsics", "1,2,3,nan"}, "--intrinsics"},
           {{"--intrinsics", "-1,2,3,4"}, "--intrinsics"},
           {{"--conf_threshold", "nan"}, "--conf_threshold: found nan"},
           {{"--downsample_factor", "0"}, "--downsample_factor: found 0"}}) {
    expect_refusal(run_program(export_words("x", words)), 2, HasSubstr(text));
    expect_refusal(run_program(this->words("x", words)), 2, HasSubstr(text));
  }
  EXPECT_FALSE(fs::exists(path("x")));
  expect_refusal(run_program({"export", path("plain/predictions")}), 2, HasSubstr("no output"));
  expect_refusal(run_program(export_words("x", {"--fps", "0"})), 2, HasSubstr("--fps: found 0"));
  expect_refusal(run_program({"export", path("plain/predictions"), "--output", path("plain"), "--export", "npz"}), 2,
                 HasSubstr("choose another folder"));
  EXPECT_TRUE(fs::exists(path("plain/predictions/frame_000000.npz")));
}

TEST_F(ExportCommand, RefusesPredictionsThatAreNotWhole) {
  make_frames(3);
  run("plain", {"--save_predictions"});
  expect_refusal(run_program({"export", path("nowhere"), "--output", path("x")}), 1, HasSubstr("nowhere"));
  expect_refusal(run_program({"export", path("frames"), "--output", path("x")}), 1, HasSubstr("no frame_000000.npz"));
  test::write_content(path("cameras.txt"), "100 100 42 28\n100 100 42 28\n");
  expect_refusal(run_program(export_words("x", {"--intrinsics", path("cameras.txt")})), 1,
                 AllOf(HasSubstr("cameras.txt"), HasSubstr("2 frames"), HasSubstr("each of 3")));
  expect_refusal(run_program(words("x", {"--intrinsics", path("cameras.txt")})), 1, HasSubstr("each of 3"));
  fs::remove(path("plain/predictions/frame_000001.npz"));
  expect_refusal(run_program(export_words("x", {})), 1, HasSubstr("no frame_000001.npz"));
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(ExportCommand, ARunsIntrinsicsCanBeGivenBack) {
  make_frames(3);
  run("plain", std::vector<std::string>{"--save_predictions"} + kCamera);
  run("again", {"--intrinsics", path("plain/intrinsics.txt")});
  EXPECT_EQ(content_of(path("plain/intrinsics.txt")), content_of(path("again/intrinsics.txt")));
  EXPECT_EQ(content_of(path("plain/points.ply")), content_of(path("again/points.ply")));
}

TEST_F(ExportCommand, FormatsOfARunAreThoseAskedFor) {
  make_frames(3);
  run("live", std::vector<std::string>{"--export", "colmap,nerfstudio"} + kCamera);
  EXPECT_FALSE(fs::exists(path("live/points.ply")));
  EXPECT_FALSE(fs::exists(path("live/trajectory.txt")));
  const auto model = test::read_colmap(path("live/colmap/sparse/0"));
  ASSERT_EQ(model.images.size(), 3);
  EXPECT_EQ(model.images.at(1).name, "img_0.ppm");
  EXPECT_EQ(content_of(path("live/colmap/images/img_2.ppm")), content_of(path("frames/img_2.ppm")));
  EXPECT_EQ(model.cameras.begin()->second.fx, 100);
  EXPECT_EQ(report("live").at("settings").at("export"), nlohmann::json({"colmap", "nerfstudio"}));
}

}  // namespace
}  // namespace lingbot_map
