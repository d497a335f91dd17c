#include "export/glb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "readers.hpp"
#include "wall_frames.hpp"

namespace lingbot_map {
namespace {

using test::Glb;
using test::read_glb;
using test::wall_camera;
using test::wall_frame;
using test::wall_meta;
using testing::HasSubstr;

const std::vector<ColouredPoint> kPoints = {{{1, 2, 3}, {10, 20, 30}}, {{-1, 5, 4}, {40, 50, 60}}};

void write(GlbWriter& writer, std::int64_t index, std::span<const ColouredPoint> points) {
  const FrameResult frame = wall_frame(index);
  const FrameMeta meta = wall_meta(index);
  writer.write(pose_frame(frame, meta), points);
}

TEST(GlbWriter, CanBeReadAtAnyTime) {
  const test::TemporaryFolder folder;
  GlbWriter writer(folder / "scene.glb", {});
  EXPECT_TRUE(read_glb(folder / "scene.glb").primitive("points").is_null());
  for (std::size_t i = 0; i < 3; ++i) {
    write(writer, static_cast<std::int64_t>(i), kPoints);
    const Glb glb = read_glb(folder / "scene.glb");
    EXPECT_EQ(glb.rows<float>(glb.primitive("points")["attributes"]["POSITION"]).size(), 2 * (i + 1));
    EXPECT_TRUE(glb.primitive("cameras").is_null());
  }
}

TEST(GlbWriter, PointsHaveTheirPlacesAndColours) {
  const test::TemporaryFolder folder;
  GlbWriter writer(folder / "scene.glb", {});
  write(writer, 0, kPoints);
  writer.finish();
  const Glb glb = read_glb(folder / "scene.glb");
  const auto primitive = glb.primitive("points");
  EXPECT_EQ(primitive["mode"], 0);
  const auto attributes = primitive["attributes"];
  using testing::ElementsAre;
  EXPECT_THAT(glb.rows<float>(attributes["POSITION"]), ElementsAre(ElementsAre(1, 2, 3), ElementsAre(-1, 5, 4)));
  EXPECT_THAT(glb.rows<std::uint8_t>(attributes["COLOR_0"]),
              ElementsAre(ElementsAre(10, 20, 30, 255), ElementsAre(40, 50, 60, 255)));
  const auto& accessor = glb.document["accessors"][attributes["POSITION"].get<std::size_t>()];
  EXPECT_EQ(accessor["min"], nlohmann::json({-1, 2, 3}));
  EXPECT_EQ(accessor["max"], nlohmann::json({1, 5, 4}));
  // Up is -y here and +y in glTF: half a turn about x.
  EXPECT_EQ(glb.document["nodes"][0]["rotation"], nlohmann::json({1, 0, 0, 0}));
}

TEST(GlbWriter, CamerasArePyramidsOnTheirWay) {
  const test::TemporaryFolder folder;
  GlbWriter writer(folder / "scene.glb", {});
  for (int i = 0; i < 3; ++i) write(writer, i, kPoints);
  writer.finish();
  const Glb glb = read_glb(folder / "scene.glb");
  const auto way = glb.primitive("path");
  const auto places = glb.rows<float>(way["attributes"]["POSITION"]);
  const auto steps = glb.rows<std::uint32_t>(way["indices"]);
  ASSERT_EQ(steps.size(), 4);  // from camera 0 to 1 to 2
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Vec3 centre = wall_camera(static_cast<std::int64_t>((i + 1) / 2)).translation;
    for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(places.at(steps[i][0])[axis], centre[axis], 1e-6);
  }
  const auto cameras = glb.primitive("cameras");
  EXPECT_EQ(cameras["mode"], 1);
  const auto corners = glb.rows<float>(cameras["attributes"]["POSITION"]);
  ASSERT_EQ(corners.size(), 15);
  // The first camera looks along z: its corners are at one depth, in the shape of its picture.
  EXPECT_GT(corners[1][2], 0);
  EXPECT_NEAR(corners[1][0] / corners[1][2], -16 / 30.0, 1e-5);
  EXPECT_NEAR(corners[3][1] / corners[3][2], 12 / 30.0, 1e-5);
  for (const auto& line : glb.rows<std::uint32_t>(cameras["indices"])) EXPECT_LT(line[0], 15);
  EXPECT_FALSE(std::filesystem::exists(folder / "scene.glb.cameras.part"));
}

TEST(GlbWriter, WhatDoesNotFitIsLeftOutWithAWarning) {
  const test::TemporaryFolder folder;
  GlbWriter writer(folder / "scene.glb", {}, 3);
  for (int i = 0; i < 3; ++i) write(writer, i, kPoints);
  writer.finish();
  const Glb glb = read_glb(folder / "scene.glb");
  EXPECT_EQ(glb.rows<float>(glb.primitive("points")["attributes"]["POSITION"]).size(), 3);
  EXPECT_THAT(writer.warnings(), testing::ElementsAre(testing::AllOf(HasSubstr("scene.glb: holds 3 points"),
                                                                     HasSubstr("3 from frame 1 on are left out"),
                                                                     HasSubstr("--voxel_size"))));
}

TEST(GlbWriter, WithoutAnythingIsAnEmptyScene) {
  const test::TemporaryFolder folder;
  GlbWriter writer(folder / "scene.glb", {});
  FrameResult frame = wall_frame(0);
  frame.pose_enc[7] = 0;
  const FrameMeta meta = wall_meta(0);
  writer.write(pose_frame(frame, meta), {});
  writer.finish();
  const Glb glb = read_glb(folder / "scene.glb");
  EXPECT_FALSE(glb.document.contains("meshes"));
  EXPECT_FALSE(glb.document.contains("buffers"));
  EXPECT_TRUE(writer.warnings().empty());
}

}  // namespace
}  // namespace lingbot_map
