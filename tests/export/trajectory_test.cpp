#include "export/trajectory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "expect_error.hpp"
#include "readers.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::lines_of;
using test::table_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A camera at (1, 2, 3) that was turned by 90 degrees about its y axis and looks along +x of the world.
const Rigid3 kLookingRight{{0, 0, 1, 0, 1, 0, -1, 0, 0}, {1, 2, 3}};

TEST(TumWriter, WritesCameraToWorldWithTheScalarLast) {
  const test::TemporaryFolder folder;
  TumWriter writer(folder / "trajectory.txt");
  writer.write(0, Rigid3{});
  writer.write(0.1, kLookingRight);
  const auto lines = lines_of(folder / "trajectory.txt");
  ASSERT_EQ(lines.size(), 4);
  EXPECT_THAT(lines[0], HasSubstr("# One line a frame: timestamp tx ty tz qx qy qz qw"));
  EXPECT_THAT(lines[1], AllOf(testing::StartsWith("# "), HasSubstr("camera to world"), HasSubstr("x right, y down")));
  EXPECT_EQ(lines[2], "0.000000000 0 0 0 0 0 0 1");
  EXPECT_EQ(lines[3], "0.100000000 1 2 3 0 0.707106781 0 0.707106781");
}

TEST(TumWriter, KeepsWhatUnixTimesAndFloatsCanTell) {
  const test::TemporaryFolder folder;
  TumWriter writer(folder / "trajectory.txt");
  const float coordinate = 0.12345678F;
  writer.write(1403636579.763556, Rigid3{Rigid3{}.rotation, {coordinate, -coordinate, 1e-7F}});
  const auto rows = table_of(folder / "trajectory.txt");
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0][0], 1403636579.763556);
  EXPECT_EQ(static_cast<float>(rows[0][1]), coordinate);
  EXPECT_EQ(static_cast<float>(rows[0][2]), -coordinate);
  EXPECT_EQ(static_cast<float>(rows[0][3]), 1e-7F);
}

TEST(TumWriter, RefusesTimeStampsThatDoNotAscend) {
  const test::TemporaryFolder folder;
  TumWriter writer(folder / "trajectory.txt");
  writer.write(1.5, Rigid3{});
  const auto message =
      AllOf(HasSubstr("trajectory.txt"), HasSubstr("after 1.500000000"), HasSubstr("strictly ascending"));
  expect_error(
      ErrorCode::input, [&] { writer.write(1.5, Rigid3{}); }, message);
  expect_error(
      ErrorCode::input, [&] { writer.write(1.5 + 1e-10, Rigid3{}); }, message);
  expect_error(
      ErrorCode::input, [&] { writer.write(-2, Rigid3{}); }, message);
  expect_error(
      ErrorCode::input, [&] { writer.write(kNan, Rigid3{}); }, HasSubstr("time stamp nan"));
  expect_error(
      ErrorCode::input, [&] { writer.write(1e300, Rigid3{}); }, HasSubstr("time stamp 1e+300"));
  writer.write(1.5 + 1e-8, Rigid3{});
  EXPECT_EQ(table_of(folder / "trajectory.txt").size(), 2);
}

TEST(TumWriter, AFrameWithoutAPoseIsAComment) {
  const test::TemporaryFolder folder;
  TumWriter writer(folder / "trajectory.txt");
  writer.write(1, Rigid3{});
  writer.write(2, std::nullopt);
  writer.write(3, Rigid3{});
  EXPECT_EQ(lines_of(folder / "trajectory.txt")[3], "# 2.000000000 has no pose");
  EXPECT_THAT(table_of(folder / "trajectory.txt"), ElementsAre(ElementsAre(1, 0, 0, 0, 0, 0, 0, 1),  //
                                                               ElementsAre(3, 0, 0, 0, 0, 0, 0, 1)));
}

TEST(KittiWriter, WritesTheRowsOfCameraToWorld) {
  const test::TemporaryFolder folder;
  KittiWriter writer(folder / "poses.txt");
  writer.write(Rigid3{});
  writer.write(kLookingRight);
  EXPECT_THAT(lines_of(folder / "poses.txt"), ElementsAre("1 0 0 0 0 1 0 0 0 0 1 0", "0 0 1 1 0 1 0 2 -1 0 0 3"));
}

TEST(KittiWriter, EveryFrameHasItsLine) {
  const test::TemporaryFolder folder;
  KittiWriter writer(folder / "poses.txt");
  writer.write(std::nullopt);
  writer.write(Rigid3{});
  const auto rows = table_of(folder / "poses.txt");
  ASSERT_EQ(rows.size(), 2);
  EXPECT_THAT(rows[0], testing::SizeIs(12));
  EXPECT_THAT(rows[0], testing::Each(testing::IsNan()));
}

TEST(IntrinsicsWriter, WritesBothSetsOfPixels) {
  const test::TemporaryFolder folder;
  IntrinsicsWriter writer(folder / "intrinsics.txt");
  writer.write(0, {100.5, 110, 80, 40}, {640, 360, 4, 4, 0, 20});
  writer.write(1, {100, std::numeric_limits<double>::infinity(), 80, 40}, {640, 360, 4, 4, 0, 20});
  const auto lines = lines_of(folder / "intrinsics.txt");
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0], "# One line a frame: index fx fy cx cy fx fy cx cy width height");
  EXPECT_EQ(lines[2], "0 100.5 110 80 40 402 440 320 180 640 360");
  EXPECT_EQ(lines[3], "1 100 inf 80 40 400 inf 320 180 640 360");
}

TEST(TextWriters, ReportAFullDisk) {
  const auto message = AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device"));
  expect_error(
      ErrorCode::output, [] { TumWriter("/dev/full"); }, message);
  expect_error(
      ErrorCode::output, [] { IntrinsicsWriter("/dev/full"); }, message);
  expect_error(
      ErrorCode::output, [] { KittiWriter("/dev/full").write(Rigid3{}); }, message);
}

}  // namespace
}  // namespace lingbot_map
