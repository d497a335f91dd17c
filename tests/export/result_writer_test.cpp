#include "export/result_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "readers.hpp"
#include "small_frame.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::lines_of;
using test::read_npz;
using test::read_ply;
using test::small_frame;
using test::small_meta;
using test::table_of;
using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

ResultOptions options_of(double conf_threshold, int downsample_factor, bool save_predictions) {
  ResultOptions options;
  options.points = {conf_threshold, downsample_factor};
  options.save_predictions = save_predictions;
  return options;
}
const ResultOptions kAllPoints = options_of(1.5, 1, false);

TEST(ResultWriter, WritesEveryFileOfARun) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder / "new/run", options_of(1.5, 2, true));
  for (int i = 0; i < 3; ++i) writer.write(small_frame(i), small_meta(i));
  writer.finish();
  EXPECT_EQ(writer.frames(), 3);
  EXPECT_EQ(writer.points(), 12);
  EXPECT_EQ(writer.frames_without_camera(), 0);

  const auto run = folder / "new/run";
  const auto trajectory = table_of(run / "trajectory.txt");
  ASSERT_EQ(trajectory.size(), 3);
  EXPECT_THAT(trajectory[2],
              Pointwise(DoubleNear(1e-6), std::vector<double>{0.2, 10, 20, 30, 0, 0.70710678, 0, 0.70710678}));
  const auto kitti = table_of(run / "poses_kitti.txt");
  ASSERT_EQ(kitti.size(), 3);
  EXPECT_THAT(kitti[0], Pointwise(DoubleNear(1e-6), std::vector<double>{0, 0, 1, 10, 0, 1, 0, 20, -1, 0, 0, 30}));
  const auto intrinsics = table_of(run / "intrinsics.txt");
  ASSERT_EQ(intrinsics.size(), 3);
  EXPECT_THAT(intrinsics[1], Pointwise(DoubleNear(1e-6), std::vector<double>{1, 2, 1, 2, 1, 4, 2, 4, 2, 8, 4}));
  EXPECT_EQ(read_ply(run / "points.ply").vertices.size(), 12);
  EXPECT_EQ(read_npz(run / "predictions/frame_000002.npz").at("depth").shape, "2,4,1");
  EXPECT_EQ(read_npz(run / "predictions/meta.npz").at("frame_type").shape, "1,3");
}

TEST(ResultWriter, ARunThatIsKilledLeavesItsFrames) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder.path(), options_of(1.5, 1, true));
  for (int i = 0; i < 2; ++i) {
    writer.write(small_frame(i), small_meta(i));
    // As another program sees the files while this one still has them open.
    const std::size_t frames = i + 1;
    EXPECT_EQ(table_of(folder / "trajectory.txt").size(), frames);
    EXPECT_EQ(table_of(folder / "poses_kitti.txt").size(), frames);
    EXPECT_EQ(table_of(folder / "intrinsics.txt").size(), frames);
    EXPECT_EQ(read_ply(folder / "points.ply").vertices.size(), 8 * frames);
    EXPECT_EQ(read_npz(folder / ("predictions/frame_00000" + std::to_string(i) + ".npz")).size(), 6);
  }
}

void expect_the_same_from_a_state(const ResultOptions& options) {
  const test::TemporaryFolder folder;
  const auto write = [&](ResultWriter& writer, int first, int end) {
    for (int i = first; i < end; ++i) writer.write(small_frame(i), small_meta(i));
  };
  {
    ResultWriter writer(folder / "whole", options);
    write(writer, 0, 5);
    writer.finish();
  }
  std::string text;
  {
    ResultWriter writer(folder / "cut", options);
    write(writer, 0, 3);
    text = writer.state().dump();
    write(writer, 3, 5);  // what was written beyond the state goes
    writer.finish();
  }
  const auto state = JsonFields::parse(text, "state");
  {
    ResultWriter writer(folder / "cut", options, &state);
    EXPECT_EQ(writer.frames(), 3);
    EXPECT_EQ(read_ply(folder / "cut/points.ply").vertices.size(), 24U);
    EXPECT_FALSE(std::filesystem::exists(folder / "cut/predictions/meta.npz"));
    EXPECT_FALSE(std::filesystem::exists(folder / "cut/predictions/frame_000003.npz"));
    expect_error(
        ErrorCode::input, [&] { writer.write(small_frame(3), small_meta(2)); }, HasSubstr("time stamp"));
  }
  ResultWriter writer(folder / "cut", options, &state);
  write(writer, 3, 5);
  writer.finish();
  for (const char* file : {"trajectory.txt", "poses_kitti.txt", "intrinsics.txt", "points.ply", "predictions/meta.npz",
                           "predictions/frame_000004.npz", "predictions/frames.jsonl"})
    EXPECT_TRUE(test::content_of(folder / "cut" / file) == test::content_of(folder / "whole" / file)) << file;
}

TEST(ResultWriter, GoesOnFromAStateToTheSameBytes) {
  ResultOptions options = options_of(1.5, 1, true);
  expect_the_same_from_a_state(options);
  options.units = Units::scaled(2.5);
  expect_the_same_from_a_state(options);
}

TEST(ResultWriter, WhatIsCompletedAtTheEndHasNoState) {
  const test::TemporaryFolder folder;
  ResultOptions with_cubes = options_of(1.5, 1, false);
  with_cubes.voxel_size = 0.1;
  ResultOptions with_glb = options_of(1.5, 1, false);
  with_glb.formats.add(ExportFormat::glb);
  for (const auto& [options, what] : {std::pair{with_cubes, "a voxel size"}, std::pair{with_glb, "the format glb"}}) {
    EXPECT_EQ(without_state(options), what);
    const ResultWriter writer(folder.path(), options);
    expect_error(
        ErrorCode::usage, [&writer = writer] { (void)writer.state(); }, HasSubstr(what));
  }
  EXPECT_EQ(without_state({}), "");
}

TEST(ResultWriter, AStateThatDoesNotFitIsRefused) {
  const test::TemporaryFolder folder;
  WriterState good;
  {
    ResultWriter writer(folder.path(), options_of(1.5, 1, true));
    writer.write(small_frame(0), small_meta(0));
    good = writer.state();
  }
  const auto expect_refused = [&](ErrorCode code, const char* file, const char* key, const WriterState& value,
                                  const char* line) {
    WriterState state = good;
    state[file][key] = value;
    const JsonFields fields(state, "state.json");
    expect_error(
        code, [&] { ResultWriter(folder.path(), options_of(1.5, 1, true), &fields); }, HasSubstr(line));
  };
  expect_refused(ErrorCode::input, "trajectory.txt", "bytes", -1, "state.json: trajectory.txt.bytes is -1");
  expect_refused(ErrorCode::output, "trajectory.txt", "bytes", 1'000'000, "trajectory.txt: has");
  expect_refused(ErrorCode::input, "points.ply", "points", 3, "points.ply has 3 points");
  expect_refused(ErrorCode::input, "predictions", "frame_types", "7", "frame_types");
  expect_refused(ErrorCode::output, "predictions", "frame_types", "00", "has 1 of the 2 frames");
}

TEST(ResultWriter, ReplacesTheFilesOfAnEarlierRun) {
  const test::TemporaryFolder folder;
  for (const int frames : {3, 1}) {
    ResultWriter writer(folder.path(), options_of(1.5, 1, true));
    for (int i = 0; i < frames; ++i) writer.write(small_frame(i), small_meta(i));
    writer.finish();
  }
  EXPECT_EQ(table_of(folder / "trajectory.txt").size(), 1);
  EXPECT_EQ(read_ply(folder / "points.ply").vertices.size(), 8);
  EXPECT_TRUE(std::filesystem::exists(folder / "predictions/frame_000000.npz"));
  EXPECT_FALSE(std::filesystem::exists(folder / "predictions/frame_000001.npz"));
}

TEST(ResultWriter, CountsFramesWithoutACamera) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder.path(), kAllPoints);
  FrameResult no_pose = small_frame(0);
  no_pose.pose_enc[0] = std::numeric_limits<float>::quiet_NaN();
  FrameResult no_view = small_frame(1);
  no_view.pose_enc[7] = 0;
  writer.write(no_pose, small_meta(0));
  writer.write(no_view, small_meta(1));
  writer.write(small_frame(2), small_meta(2));
  EXPECT_EQ(writer.frames_without_camera(), 2);
  EXPECT_EQ(writer.points(), 8);
  EXPECT_EQ(table_of(folder / "trajectory.txt").size(), 2);
  EXPECT_EQ(table_of(folder / "poses_kitti.txt").size(), 3);
  EXPECT_EQ(table_of(folder / "intrinsics.txt").size(), 3);
}

TEST(ResultWriter, NamesTheFrameWhoseTimeDoesNotAscend) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder.path(), kAllPoints);
  writer.write(small_frame(0), small_meta(0));
  FrameMeta meta = small_meta(1);
  meta.timestamp = 0;
  expect_error(
      ErrorCode::input, [&] { writer.write(small_frame(1), meta); },
      AllOf(HasSubstr("frame 1 (img_1.png): "), HasSubstr("trajectory.txt"), HasSubstr("strictly ascending")));
}

TEST(ResultWriter, TakesFramesInOrder) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder.path(), kAllPoints);
  expect_error(
      ErrorCode::internal, [&] { writer.write(small_frame(1), small_meta(1)); }, HasSubstr("result 1"));
}

TEST(ResultWriter, RefusesImpossibleOptionsBeforeItTouchesTheFolder) {
  const test::TemporaryFolder folder;
  expect_error(
      ErrorCode::usage, [&] { ResultWriter(folder / "run", options_of(1.5, 0, false)); },
      AllOf(HasSubstr("downsample factor 0"), HasSubstr("expected 1 or more")));
  expect_error(
      ErrorCode::usage,
      [&] { ResultWriter(folder / "run", options_of(std::numeric_limits<double>::quiet_NaN(), 1, false)); },
      HasSubstr("threshold nan"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(ResultWriter, NamesAFolderOrFileThatCannotBeMade) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "file", "");
  expect_error(
      ErrorCode::output, [&] { ResultWriter(folder / "file", kAllPoints); }, HasSubstr("is not a folder"));
  std::filesystem::create_directory(folder / "points.ply");
  expect_error(
      ErrorCode::output, [&] { ResultWriter(folder.path(), kAllPoints); }, HasSubstr("points.ply"));
}

TEST(ResultWriter, AFullDiskLeavesEarlierFramesWhole) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder.path(), kAllPoints);
  const test::FileSizeLimit limit(1000);
  int frames = 0;
  const auto write_until_full = [&] {
    for (; frames < 100; ++frames) writer.write(small_frame(frames), small_meta(frames));
  };
  expect_error(ErrorCode::output, write_until_full, HasSubstr("cannot be written"));
  ASSERT_GT(frames, 2);
  EXPECT_EQ(writer.frames(), frames);
  for (const auto& row : table_of(folder / "trajectory.txt")) EXPECT_EQ(row.size(), 8);
  for (const auto& row : table_of(folder / "poses_kitti.txt")) EXPECT_EQ(row.size(), 12);
  EXPECT_EQ(read_ply(folder / "points.ply").vertices.size(), 8 * frames);
  EXPECT_EQ(read_ply(folder / "points.ply").bytes_after, 0);
}

TEST(ResultWriter, WritesTheFormatsThatWereAskedForAndNoOther) {
  const test::TemporaryFolder folder;
  ResultOptions options = options_of(1.5, 1, false);
  options.formats = {ExportFormat::glb, ExportFormat::kitti};
  ResultWriter writer(folder.path(), options);
  writer.write(small_frame(0), small_meta(0));
  writer.finish();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("intrinsics.txt", "poses_kitti.txt", "scene.glb"));
  EXPECT_EQ(writer.points(), 8);
}

TEST(ResultWriter, KeepsTheFirstPointOfACube) {
  const test::TemporaryFolder folder;
  ResultOptions options = options_of(1.5, 1, false);
  options.voxel_size = 100;  // the points of all frames stand in very few cubes of this side
  ResultWriter writer(folder.path(), options);
  for (int i = 0; i < 3; ++i) writer.write(small_frame(i), small_meta(i));
  const auto few = read_ply(folder / "points.ply").vertices.size();
  EXPECT_GT(few, 0);
  EXPECT_LT(few, 4);
  for (const double size : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    options.voxel_size = size;
    expect_error(
        ErrorCode::usage, [&] { ResultWriter(folder.path(), options); }, HasSubstr("voxel size"));
  }
}

TEST(ResultWriter, WritesEverythingInTheUnitsAskedFor) {
  const test::TemporaryFolder folder;
  ResultOptions options = options_of(1.5, 1, true);
  options.units = Units::scaled(2);
  ResultWriter writer(folder.path(), options);
  writer.write(small_frame(0), small_meta(0));
  writer.finish();
  EXPECT_THAT(table_of(folder / "trajectory.txt")[0],
              Pointwise(DoubleNear(1e-6), std::vector<double>{0, 20, 40, 60, 0, 0.70710678, 0, 0.70710678}));
  EXPECT_THAT(lines_of(folder / "trajectory.txt"),
              testing::Contains("# lengths are the network's own times 2 (--scale)"));
  EXPECT_THAT(read_ply(folder / "points.ply").header, HasSubstr("times 2 (--scale)"));
  // Pixel (3, 0) at depth 8: (4, -8, 8) in the camera.
  const auto vertex = read_ply(folder / "points.ply").vertices[3];
  EXPECT_NEAR(vertex.x, 20 + 8, 1e-4);
  EXPECT_NEAR(vertex.y, 40 - 8, 1e-4);
  EXPECT_NEAR(vertex.z, 60 - 4, 1e-4);
  const auto arrays = read_npz(folder / "predictions/frame_000000.npz");
  EXPECT_EQ(arrays.at("depth").values<float>()[3], 8);
  EXPECT_THAT(arrays.at("extrinsic").values<float>(),
              testing::Pointwise(testing::FloatNear(1e-4F), {0, 0, -1, 60, 0, 1, 0, -40, 1, 0, 0, -20}));
}

TEST(ResultWriter, AKnownCameraTakesThePlaceOfTheNetworks) {
  const test::TemporaryFolder folder;
  ResultWriter writer(folder.path(), options_of(1.5, 1, true));
  FrameResult frame = small_frame(0);
  frame.pose_enc[7] = 0;  // the network knows nothing
  FrameMeta meta = small_meta(0);
  meta.camera = Intrinsics{4, 4, 1, 1};
  writer.write(frame, meta);
  EXPECT_EQ(writer.frames_without_camera(), 0);
  EXPECT_THAT(table_of(folder / "intrinsics.txt")[0],
              Pointwise(DoubleNear(1e-9), std::vector<double>{0, 4, 4, 1, 1, 8, 8, 2, 2, 8, 4}));
  // Pixel (3, 0) at depth 4: (2, -1, 4) in the camera.
  const auto vertex = read_ply(folder / "points.ply").vertices[3];
  EXPECT_NEAR(vertex.x, 10 + 4, 1e-5);
  EXPECT_NEAR(vertex.y, 20 - 1, 1e-5);
  EXPECT_NEAR(vertex.z, 30 - 2, 1e-5);
}

}  // namespace
}  // namespace lingbot_map
