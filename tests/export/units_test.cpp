#include "export/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "geometry/camera.hpp"
#include "small_frame.hpp"

namespace lingbot_map {
namespace {

using test::small_frame;
using testing::HasSubstr;

// Half a turn about z, twice as large, moved.
const Sim3 kMotion{2, {-1, 0, 0, 0, -1, 0, 0, 0, 1}, {1, 2, 3}};

TEST(Units, OfTheNetworkChangeNothing) {
  const FrameResult frame = small_frame();
  const FrameResult same = in_units({}, frame);
  EXPECT_EQ(same.pose_enc, frame.pose_enc);
  EXPECT_EQ(same.depth, frame.depth);
}

TEST(Units, MovePosesDepthAndWorldPoints) {
  FrameResult frame = small_frame();
  frame.world_points = {1, 1, 1, 0, 0, 0};
  const FrameResult moved = in_units(Units::aligned(kMotion, "truth.txt"), frame);
  EXPECT_FLOAT_EQ(moved.depth[7], 16);
  EXPECT_THAT(moved.world_points, testing::ElementsAre(-1, 0, 5, 1, 2, 3));
  const auto pose = world_from_camera(moved.pose_enc);
  ASSERT_TRUE(pose);
  // What the camera saw at depth 3 on its axis is where the point itself was moved to.
  const Vec3 before = *world_from_camera(frame.pose_enc) * Vec3{0, 0, 3};
  const Vec3 after = *pose * Vec3{0, 0, 6};
  const Vec3 expected = kMotion * before;
  for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(after[axis], expected[axis], 1e-4);
  EXPECT_EQ(moved.pose_enc[7], frame.pose_enc[7]);
}

TEST(Units, LeaveWhatIsNoPose) {
  FrameResult frame = small_frame();
  for (std::size_t i = 3; i < 7; ++i) frame.pose_enc[i] = 0;
  EXPECT_EQ(in_units(Units::scaled(2), frame).pose_enc, frame.pose_enc);
}

TEST(Units, SayWhatTheyAre) {
  EXPECT_THAT(Units{}.text, HasSubstr("not metric"));
  EXPECT_THAT(Units::scaled(0.25).text, HasSubstr("times 0.25 (--scale)"));
  EXPECT_THAT(Units::aligned(kMotion, "gnss\n.txt").text,
              testing::AllOf(HasSubstr("gnss\\x0a.txt"), HasSubstr("scale 2"), HasSubstr("--align_to")));
}

}  // namespace
}  // namespace lingbot_map
