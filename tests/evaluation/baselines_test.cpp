#include "evaluation/baselines.hpp"

#include <gtest/gtest.h>

#include "evaluation/evaluate.hpp"
#include "expect_error.hpp"
#include "small_trajectories.hpp"

namespace lingbot_map {
namespace {

using test::about_y;
using test::expect_error;
using test::trajectory_of;
using testing::HasSubstr;

TEST(ConstantVelocity, IsRightForACameraThatKeepsTurning) {
  // Round a circle, ten degrees a frame.
  Trajectory truth = trajectory_of(std::vector<Vec3>(30));
  for (std::size_t i = 0; i < truth.poses.size(); ++i) {
    const Rigid3 turn = {about_y(10.0 * static_cast<double>(i)), {}};
    truth.poses[i].world_from_camera = {turn.rotation, turn * Vec3{5, 0, 0}};
  }
  const TrajectoryEvaluation found = evaluate(constant_velocity(truth), truth, {.alignment = Alignment::none});
  EXPECT_LT(found.ate.max, 1e-12);
  EXPECT_LT(found.ate_rotation.max, 1e-6);
}

TEST(ConstantVelocity, KeepsTimesAndGoesOnStraight) {
  Trajectory truth = trajectory_of({{0, 0, 0}, {0, 0, 1}, {4, 4, 4}, {5, 5, 5}});
  for (StampedPose& pose : truth.poses) pose.world_from_camera.rotation = Rigid3{}.rotation;
  const Trajectory found = constant_velocity(truth);
  ASSERT_EQ(found.poses.size(), 4);
  EXPECT_EQ(found.poses[3].world_from_camera.translation, (Vec3{0, 0, 3}));
  EXPECT_EQ(found.poses[3].time, truth.poses[3].time);
}

TEST(ConstantVelocity, NeedsTwoPoses) {
  expect_error(
      ErrorCode::input,
      [] {
        (void)constant_velocity(trajectory_of({{0, 0, 0}}));
      },
      HasSubstr("found 1 poses"));
}

TEST(ConstantDepth, IsTheSameEverywhere) {
  const DepthMap found = constant_depth(3, 2, 1.5F);
  EXPECT_EQ(found.width, 3);
  EXPECT_EQ(found.values, std::vector<float>(6, 1.5F));
}

}  // namespace
}  // namespace lingbot_map
