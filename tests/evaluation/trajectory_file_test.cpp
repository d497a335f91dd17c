#include "evaluation/trajectory_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class TrajectoryFile : public testing::Test {
 protected:
  Trajectory read(std::string_view text, TrajectoryFormat format = TrajectoryFormat::automatic) const {
    test::write_content(folder_ / "poses.txt", text);
    return read_trajectory(folder_ / "poses.txt", format);
  }
  void refuses(std::string_view text, const std::string& words,
               TrajectoryFormat format = TrajectoryFormat::automatic) const {
    expect_error(
        ErrorCode::input, [&] { (void)read(text, format); }, AllOf(HasSubstr("poses.txt: "), HasSubstr(words)));
  }

  test::TemporaryFolder folder_;
};

TEST_F(TrajectoryFile, ReadsTum) {
  const Trajectory found = read(
      "# a comment\n"
      "0.5 1 2 3 0 0 0 1\n"
      "\n"
      "  +1.5\t-1e1 .5 0  0 1 0 0 \r\n"
      "1305031102.175304 0 0 0 0 0 0 -1");
  EXPECT_TRUE(found.has_times);
  ASSERT_EQ(found.poses.size(), 3);
  EXPECT_EQ(found.poses[0].time, 0.5);
  EXPECT_EQ(found.poses[0].world_from_camera.translation, (Vec3{1, 2, 3}));
  EXPECT_EQ(found.poses[1].world_from_camera.translation, (Vec3{-10, 0.5, 0}));
  EXPECT_EQ(found.poses[1].world_from_camera.rotation, (Mat3{-1, 0, 0, 0, 1, 0, 0, 0, -1}));
  EXPECT_EQ(found.poses[2].time, 1305031102.175304);
  EXPECT_EQ(found.poses[2].frame, 2);
}

TEST_F(TrajectoryFile, ReadsKitti) {
  const Trajectory found = read("1 0 0 4 0 1 0 5 0 0 1 6\n0 -1 0 0 1 0 0 0 0 0 1 0\n");
  EXPECT_FALSE(found.has_times);
  ASSERT_EQ(found.poses.size(), 2);
  EXPECT_EQ(found.poses[0].world_from_camera.translation, (Vec3{4, 5, 6}));
  EXPECT_EQ(found.poses[1].time, 1);
  EXPECT_NEAR(found.poses[1].world_from_camera.rotation[1], -1, 1e-15);
}

TEST_F(TrajectoryFile, CountsFramesWithoutAPose) {
  const Trajectory tum = read("0 0 0 0 0 0 0 1\n# 0.100000000 has no pose\n0.2 0 0 0 0 0 0 1\n");
  ASSERT_EQ(tum.poses.size(), 2);
  EXPECT_EQ(tum.poses[1].frame, 2);
  EXPECT_THAT(tum.frame_times, ElementsAre(0, 0.1, 0.2));

  const Trajectory kitti = read("nan nan nan nan nan nan nan nan nan nan nan nan\n1 0 0 0 0 1 0 0 0 0 1 0\n");
  ASSERT_EQ(kitti.poses.size(), 1);
  EXPECT_EQ(kitti.poses[0].frame, 1);
  EXPECT_THAT(kitti.frame_times, ElementsAre(0, 1));
}

TEST_F(TrajectoryFile, SkipsAByteOrderMark) {
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "0 0 0 0 0 0 0 1\n")
                .poses.size(),
            1);
}

TEST_F(TrajectoryFile, MakesRoundedRotationsExact) {
  const Mat3 tum = read("0 0 0 0 0 0.7071 0 0.7071\n").poses[0].world_from_camera.rotation;
  const Mat3 kitti = read("0 0 0.9999 0 0 1.0001 0 0 -0.9999 0 0 0\n").poses[0].world_from_camera.rotation;
  for (const Mat3& rotation : {tum, kitti}) {
    const Mat3 expected = {0, 0, 1, 0, 1, 0, -1, 0, 0};
    for (int i = 0; i < 9; ++i) EXPECT_NEAR(rotation[i], expected[i], 1e-15);
  }
}

TEST_F(TrajectoryFile, NamesTheLineThatIsWrong) {
  const std::string good = "# comment\n0 0 0 0 0 0 0 1\n";
  refuses(good + "1 0 0 0 0 0 0 1.01\n", "line 3: found a quaternion of length 1.01, expected a unit quaternion");
  refuses(good + "1 0 0 0 0 0 0 0\n", "line 3: found a quaternion of length 0");
  refuses(good + "1 0 0 0 1e100 0 0 0\n", "line 3: found a quaternion of length");
  refuses(good + "0 0 0 0 0 0 0 1\n", "line 3: found the time stamp 0 after 0, which is a duplicate");
  refuses(good + "\n-1.25 0 0 0 0 0 0 1\n", "line 4: found the time stamp -1.25 after 0, which is out of order");
  refuses(good + "1 nan 0 0 0 0 0 1\n", "line 3: found \"nan\", expected a finite number");
  refuses(good + "1 0 -inf 0 0 0 0 1\n", "line 3: found \"-inf\"");
  refuses(good + "1 0 1e999 0 0 0 0 1\n", "line 3: found \"1e999\", expected a number");
  refuses(good + "1 0 1e101 0 0 0 0 1\n", "line 3: found 1e+101, expected numbers of at most 1e+100");
  refuses(good + "1 0 0,5 0 0 0 0 1\n", "line 3: found \"0,5\", expected a number");
  refuses(good + "1 0 0 0\n", "line 3: found 4 words, expected the 8 numbers of a pose in TUM format");
  refuses("hello world\n", "line 1: found 2 words, expected 8 numbers (TUM) or 12 (KITTI)");
  refuses(std::string("\0\1\2 3\n", 7), "line 1: found 2 words");
  refuses("1 0 0 0 0 1 0 0 0 0 1 nan\n", "line 1: found nan in a pose");
  refuses("2 0 0 0 0 2 0 0 0 0 2 0\n", "line 1: found a matrix that stretches by 2 to 2, expected a rotation");
  refuses("0 0 0 0 0 0 0 0 0 0 0 0\n", "line 1: found a matrix that stretches by 0 to 0");
  refuses("-1 0 0 0 0 1 0 0 0 0 1 0\n", "line 1: found a matrix that mirrors");
}

TEST_F(TrajectoryFile, RefusesFilesWithoutAPose) {
  refuses("", "found no line with a pose");
  refuses("# nothing\n\n# else\n", "found no line with a pose");
  refuses("# 0.1 has no pose\n", "found only frames without a pose");
  expect_error(
      ErrorCode::input, [&] { (void)read_trajectory(folder_ / "absent.txt"); }, HasSubstr("absent.txt"));
  expect_error(
      ErrorCode::input, [&] { (void)read_trajectory(folder_.path()); }, HasSubstr(folder_.path().string()));
}

TEST_F(TrajectoryFile, TakesTheFormatThatIsAskedFor) {
  refuses("0 0 0 0 0 0 0 1\n", "expected the 12 numbers of a pose in KITTI format", TrajectoryFormat::kitti);
  refuses("1 0 0 0 0 1 0 0 0 0 1 0\n", "expected the 8 numbers of a pose in TUM format", TrajectoryFormat::tum);
}

}  // namespace
}  // namespace lingbot_map
