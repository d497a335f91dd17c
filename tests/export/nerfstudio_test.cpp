#include "export/nerfstudio.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "file_size_limit.hpp"
#include "lingbot_map/error.hpp"
#include "readers.hpp"
#include "wall_frames.hpp"

namespace lingbot_map {
namespace {

using nlohmann::json;
using test::wall_camera;
using test::wall_frame;
using test::wall_meta;

void write_nothing(const std::filesystem::path& path, const Image&) { test::write_content(path, "picture"); }

json document(const test::TemporaryFolder& folder) {
  return json::parse(test::content_of(folder / "nerfstudio/transforms.json"));
}

TEST(NerfstudioWriter, IsWholeAfterEveryFrame) {
  const test::TemporaryFolder folder;
  NerfstudioWriter writer(folder / "nerfstudio", {1.5, 1}, 0, write_nothing, {});
  EXPECT_EQ(document(folder)["frames"].size(), 0);
  for (int i = 0; i < 3; ++i) {
    const FrameResult frame = wall_frame(i);
    const FrameMeta meta = wall_meta(i);
    writer.write(pose_frame(frame, meta), {});
    EXPECT_EQ(document(folder)["frames"].size(), static_cast<std::size_t>(i + 1));
  }
  const json document = ::lingbot_map::document(folder);
  EXPECT_EQ(document["camera_model"], "OPENCV");
  const json& last = document["frames"][2];
  EXPECT_EQ(last["file_path"], "images/frame_000002.png");
  EXPECT_TRUE(std::filesystem::exists(folder / "nerfstudio/images/frame_000002.png"));
  EXPECT_EQ(last["w"], 32);
  EXPECT_EQ(last["h"], 24);
  EXPECT_NEAR(last["fl_x"].get<double>(), 30, 1e-4);
  EXPECT_EQ(last["cx"], 16);
}

TEST(NerfstudioWriter, CamerasHaveOpenGlAxes) {
  const test::TemporaryFolder folder;
  NerfstudioWriter writer(folder / "nerfstudio", {1.5, 1}, 0, write_nothing, {});
  const FrameResult frame = wall_frame(0);
  FrameMeta meta = wall_meta(0);
  writer.write(pose_frame(frame, meta), {});
  // The first camera looks along +z with y down: in OpenGL's axes its up is -y and its back -z.
  const json expected = {{1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, 1}};
  const json found = document(folder)["frames"][0]["transform_matrix"];
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      EXPECT_NEAR(found[row][column].get<double>(), expected[row][column].get<double>(), 1e-6);
}

TEST(NerfstudioWriter, PointsStandInTheMiddleOfTheirPixels) {
  const test::TemporaryFolder folder;
  NerfstudioWriter writer(folder / "nerfstudio", {1.5, 1}, 0, write_nothing, {});
  for (int i = 0; i < 4; i += 3) {
    FrameResult frame = wall_frame(i);
    frame.index = i;
    const FrameMeta meta = wall_meta(i);
    writer.write(pose_frame(frame, meta), {});
  }
  const auto vertices = test::read_ply(folder / "nerfstudio/sparse_pc.ply").vertices;
  ASSERT_EQ(vertices.size(), 2 * 32 * 24);
  for (const auto& vertex : vertices) EXPECT_NEAR(vertex.z, 4 + vertex.x / 4, 1e-4);  // only if it is the middle
}

TEST(NerfstudioWriter, AFullDiskLeavesAWholeDocument) {
  const test::TemporaryFolder folder;
  NerfstudioWriter writer(folder / "nerfstudio", {9, 1}, 0, write_nothing, {});
  int frames = 0;
  {
    const test::FileSizeLimit limit(2500);
    try {
      for (; frames < 100; ++frames) {
        const FrameResult frame = wall_frame(frames);
        const FrameMeta meta = wall_meta(frames);
        writer.write(pose_frame(frame, meta), {});
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::output);
    }
  }
  ASSERT_GT(frames, 1);
  ASSERT_LT(frames, 100);
  EXPECT_EQ(document(folder)["frames"].size(), static_cast<std::size_t>(frames));
}

}  // namespace
}  // namespace lingbot_map
