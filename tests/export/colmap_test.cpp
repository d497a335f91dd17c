#include "export/colmap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "readers.hpp"
#include "wall_frames.hpp"

namespace lingbot_map {
namespace {

using test::ColmapModel;
using test::expect_error;
using test::read_colmap;
using test::wall_camera;
using test::wall_frame;
using test::wall_meta;
using testing::HasSubstr;

void write_file_name(const std::filesystem::path& path, const Image& image) {
  test::write_content(path, "picture of " + std::to_string(image.width));
}

constexpr PointSelection kSelection{1.5, 10};

/// The model of some frames; `with_files`: their pictures are the files pictures/wall 0.png, ...
ColmapModel exported(const test::TemporaryFolder& folder, int frames, bool with_files = false) {
  ColmapWriter writer(folder / "colmap", kSelection, 0, write_file_name, {});
  for (int i = 0; i < frames; ++i) {
    FrameMeta meta = wall_meta(i);
    if (with_files) {
      meta.file = folder / ("pictures/wall " + std::to_string(i) + ".png");
      std::filesystem::create_directories(folder / "pictures");
      test::write_content(meta.file, "original");
    }
    const FrameResult frame = wall_frame(i);
    writer.write(pose_frame(frame, meta), {});
  }
  writer.finish();
  return read_colmap(folder / "colmap/sparse/0");
}

/// Where a point is seen in an image.
std::pair<double, double> projected(const ColmapModel& model, const ColmapModel::Image& image,
                                    const ColmapModel::Point& point) {
  const auto& q = image.pose;
  const Rigid3 camera_from_world{*rotation_from_quaternion({q[1], q[2], q[3], q[0]}), {q[4], q[5], q[6]}};
  const Vec3 seen = camera_from_world * Vec3{point.x, point.y, point.z};
  const auto& camera = model.cameras.at(image.camera);
  return {camera.fx * seen[0] / seen[2] + camera.cx, camera.fy * seen[1] / seen[2] + camera.cy};
}

TEST(ColmapWriter, PosesAreWorldToCamera) {
  const test::TemporaryFolder folder;
  const ColmapModel model = exported(folder, 6);
  ASSERT_EQ(model.images.size(), 6);
  const Rigid3 camera_from_world = wall_camera(5).inverse();
  const Quaternion q = quaternion_from_rotation(camera_from_world.rotation);
  const auto& t = camera_from_world.translation;
  EXPECT_THAT(model.images.at(6).pose,
              testing::Pointwise(testing::DoubleNear(1e-6), std::vector<double>{q.w, q.x, q.y, q.z, t[0], t[1], t[2]}));
}

TEST(ColmapWriter, AFrameWithAFileIsALinkWithTheOriginalsCamera) {
  const test::TemporaryFolder folder;
  const ColmapModel model = exported(folder, 3, true);
  EXPECT_EQ(model.images.at(1).name, "wall_0.png");  // names in these files end at white space
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "colmap/images/wall_0.png"));
  EXPECT_EQ(test::content_of(folder / "colmap/images/wall_0.png"), "original");
  const auto& camera = model.cameras.at(model.images.at(1).camera);
  EXPECT_EQ(camera.width, 64);
  EXPECT_EQ(camera.height, 48);
  EXPECT_NEAR(camera.fx, 60, 1e-4);
  EXPECT_NEAR(camera.cx, 32, 1e-9);
}

TEST(ColmapWriter, AFrameWithoutAFileIsWrittenAndHasThatPicturesCamera) {
  const test::TemporaryFolder folder;
  const ColmapModel model = exported(folder, 3);
  EXPECT_EQ(model.images.at(3).name, "frame_000002.png");
  EXPECT_EQ(test::content_of(folder / "colmap/images/frame_000002.png"), "picture of 32");
  const auto& camera = model.cameras.at(model.images.at(3).camera);
  EXPECT_EQ(camera.width, 32);
  EXPECT_NEAR(camera.fx, 30, 1e-4);
  EXPECT_NEAR(camera.cy, 12, 1e-9);
}

TEST(ColmapWriter, CamerasThatAreAlikeAreOne) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(exported(folder, 6).cameras.size(), 1);
}

TEST(ColmapWriter, PointsAreWhereTheirObservationsSay) {
  const test::TemporaryFolder folder;
  const ColmapModel model = exported(folder, 10, true);
  ASSERT_GT(model.points.size(), 50);
  for (const auto& [id, point] : model.points) {
    ASSERT_GE(point.track.size(), 2);
    double error = 0;
    for (const auto& [image_id, number] : point.track) {
      const auto& image = model.images.at(image_id);
      const auto& observation = image.observations.at(number);
      EXPECT_EQ(observation.point, id);
      // The middle of a pixel of the network's input is between two pixels of an original twice as large.
      EXPECT_NEAR(std::fmod(observation.x, 2), 1, 1e-6);
      const auto [x, y] = projected(model, image, point);
      error += std::hypot(x - observation.x, y - observation.y) / static_cast<double>(point.track.size());
    }
    EXPECT_NEAR(error, point.error, 1e-3);
  }
}

TEST(ColmapWriter, ReplacesThePicturesOfAnEarlierRunAndNothingElse) {
  const test::TemporaryFolder folder;
  static_cast<void>(exported(folder, 6, true));
  test::write_content(folder / "colmap/images/mine.png", "mine");
  static_cast<void>(exported(folder, 2));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "colmap/images"))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("frame_000000.png", "frame_000001.png", "mine.png"));
  EXPECT_TRUE(std::filesystem::exists(folder / "pictures/wall 0.png"));
}

TEST(ColmapWriter, SaysThatItCannotWritePictures) {
  const test::TemporaryFolder folder;
  ColmapWriter writer(folder / "colmap", kSelection, 0, {}, {});
  const FrameResult frame = wall_frame(0);
  const FrameMeta meta = wall_meta(0);
  expect_error(
      ErrorCode::unsupported, [&] { writer.write(pose_frame(frame, meta), {}); },
      testing::AllOf(HasSubstr("frame 0 (wall_0.png)"), HasSubstr("LINGBOT_MAP_MEDIA")));
}

TEST(ColmapWriter, AFileInALinksPlaceIsNamed) {
  const test::TemporaryFolder folder;
  ColmapWriter writer(folder / "colmap", kSelection, 0, write_file_name, {});
  test::write_content(folder / "wall.png", "original");
  test::write_content(folder / "colmap/images/wall.png", "mine");
  const FrameResult frame = wall_frame(0);
  FrameMeta meta = wall_meta(0);
  meta.file = folder / "wall.png";
  expect_error(
      ErrorCode::output, [&] { writer.write(pose_frame(frame, meta), {}); },
      testing::AllOf(HasSubstr("images/wall.png"), HasSubstr("move it away")));
}

}  // namespace
}  // namespace lingbot_map
