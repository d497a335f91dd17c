#include "export/point_cloud.hpp"

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
using test::PlyVertex;
using test::read_ply;
using test::small_frame;
using test::small_image;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr PointSelection kAll{0, 1};

std::vector<ColouredPoint> points_of(const FrameResult& frame, const Image& image, const PointSelection& selection) {
  FrameMeta meta;
  meta.image = image;
  return points_of(pose_frame(frame, meta), selection);
}

std::vector<int> pixels_of(const std::vector<ColouredPoint>& points) {
  std::vector<int> pixels;
  for (const ColouredPoint& point : points) pixels.push_back(point.colour[0]);
  return pixels;
}

TEST(PointsOf, UnprojectsWithTheFramesOwnCamera) {
  const auto points = points_of(small_frame(), small_image(), kAll);
  ASSERT_EQ(points.size(), 8);
  // Focal lengths 2 and 1, centre (2, 1). Pixel (3, 0) at depth 4 is (2, -4, 4) in the camera: its x goes to -z of the
  // world, its y to y, its z to x.
  EXPECT_NEAR(points[3].position[0], 10 + 4, 1e-5);
  EXPECT_NEAR(points[3].position[1], 20 - 4, 1e-5);
  EXPECT_NEAR(points[3].position[2], 30 - 2, 1e-5);
  EXPECT_EQ(points[3].colour, (std::array<std::uint8_t, 3>{3, 103, 203}));
  // Pixel (2, 1) at depth 7 is on the optical axis.
  EXPECT_NEAR(points[6].position[0], 17, 1e-5);
  EXPECT_NEAR(points[6].position[1], 20, 1e-5);
  EXPECT_NEAR(points[6].position[2], 30, 1e-5);
}

TEST(PointsOf, KeepsConfidenceAboveTheThreshold) {
  FrameResult frame = small_frame();
  frame.depth_conf = {
      1.4F, 1.5F, 1.6F, 1, 9, 2, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  EXPECT_THAT(pixels_of(points_of(frame, small_image(), {1.5, 1})), ElementsAre(2, 4, 5, 7));
}

TEST(PointsOf, TakesEveryNthOfWhatIsLeft) {
  FrameResult frame = small_frame();
  frame.depth_conf[0] = 1;
  frame.depth_conf[3] = 1;
  frame.depth[4] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(pixels_of(points_of(frame, small_image(), {1.5, 2})), ElementsAre(1, 5, 7));
  EXPECT_THAT(pixels_of(points_of(frame, small_image(), {1.5, 10})), ElementsAre(1));
  EXPECT_THAT(pixels_of(points_of(frame, small_image(), {1.5, std::numeric_limits<int>::max()})), ElementsAre(1));
}

TEST(PointsOf, DropsWhatIsNotFinite) {
  FrameResult frame = small_frame();
  frame.depth[1] = std::numeric_limits<float>::quiet_NaN();
  frame.depth[2] = std::numeric_limits<float>::infinity();
  frame.depth[3] = std::numeric_limits<float>::max();
  frame.pose_enc[7] = 3.1F;  // so wide that y, at that depth, overflows
  EXPECT_THAT(pixels_of(points_of(frame, small_image(), kAll)), ElementsAre(0, 4, 5, 6, 7));
}

TEST(PointsOf, AFrameWithoutACameraShowsNone) {
  FrameResult no_rotation = small_frame();
  std::fill_n(no_rotation.pose_enc.begin() + 3, 4, 0.0F);
  EXPECT_TRUE(points_of(no_rotation, small_image(), kAll).empty());
  FrameResult no_view = small_frame();
  no_view.pose_enc[8] = 0;
  EXPECT_TRUE(points_of(no_view, small_image(), kAll).empty());
}

TEST(PointsOf, RefusesSizesThatDiffer) {
  FrameResult frame = small_frame();
  expect_error(
      ErrorCode::internal, [&] { (void)points_of(frame, Image(2, 4), kAll); }, HasSubstr("4 x 2"));
  frame.depth.pop_back();
  expect_error(
      ErrorCode::internal, [&] { (void)points_of(frame, small_image(), kAll); }, HasSubstr("4 x 2"));
}

TEST(PlyWriter, CanBeReadAtAnyTime) {
  const test::TemporaryFolder folder;
  PlyWriter writer(folder / "points.ply");
  EXPECT_TRUE(read_ply(folder / "points.ply").vertices.empty());
  const std::vector<ColouredPoint> two = {{{1, -2, 3.5F}, {10, 20, 255}}, {{4, 5, 6}, {0, 1, 2}}};
  writer.append(two);
  EXPECT_THAT(read_ply(folder / "points.ply").vertices,
              ElementsAre(PlyVertex{1, -2, 3.5F, 10, 20, 255}, PlyVertex{4, 5, 6, 0, 1, 2}));
  writer.append({});
  writer.append(std::vector<ColouredPoint>(1000));
  const auto ply = read_ply(folder / "points.ply");
  EXPECT_EQ(ply.vertices.size(), 1002);
  EXPECT_EQ(ply.bytes_after, 0);
  EXPECT_EQ(writer.points(), 1002);
}

TEST(PlyWriter, TellsTheAxesAndKeepsItsHeadersLength) {
  const test::TemporaryFolder folder;
  PlyWriter writer(folder / "points.ply");
  const std::string before = read_ply(folder / "points.ply").header;
  writer.append(std::vector<ColouredPoint>(12345));
  const std::string after = read_ply(folder / "points.ply").header;
  EXPECT_THAT(before,
              AllOf(HasSubstr("\ncomment x right, y down, z forward"), HasSubstr("\nelement vertex            0\n")));
  EXPECT_THAT(after, HasSubstr("\nelement vertex        12345\n"));
  EXPECT_EQ(before.size(), after.size());
}

TEST(PlyWriter, AFullDiskLeavesAllPointsBefore) {
  const test::TemporaryFolder folder;
  PlyWriter writer(folder / "points.ply");
  writer.append(std::vector<ColouredPoint>(10));
  {
    const test::FileSizeLimit limit(1000);
    expect_error(
        ErrorCode::output, [&] { writer.append(std::vector<ColouredPoint>(100)); }, HasSubstr("points.ply"));
  }
  const auto ply = read_ply(folder / "points.ply");
  EXPECT_EQ(ply.vertices.size(), 10);
  EXPECT_EQ(ply.bytes_after, 0);
  expect_error(
      ErrorCode::output, [] { PlyWriter("/dev/full"); }, HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace lingbot_map
