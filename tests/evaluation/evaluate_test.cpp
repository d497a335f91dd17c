#include "evaluation/evaluate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "expect_error.hpp"
#include "small_trajectories.hpp"

namespace lingbot_map {
namespace {

using test::about_x;
using test::about_y;
using test::expect_error;
using test::trajectory_of;
using test::wavy_path;
using testing::AllOf;
using testing::HasSubstr;

const Sim3 kOther = {0.25, (Rigid3{about_y(50), {}} * Rigid3{about_x(20), {}}).rotation, {3, 2, 1}};

Trajectory moved(const Sim3& map, Trajectory trajectory) {
  for (StampedPose& pose : trajectory.poses) pose.world_from_camera = map * pose.world_from_camera;
  return trajectory;
}

TEST(Evaluate, FindsNoErrorInTheTruthSeenFromAnotherWorld) {
  const Trajectory truth = trajectory_of(wavy_path(40));
  const TrajectoryEvaluation found = evaluate(moved(kOther, truth), truth);
  EXPECT_NEAR(found.truth_from_estimate.scale, 4, 1e-12);
  EXPECT_LT(found.ate.max, 1e-12);
  EXPECT_LT(found.ate_rotation.max, 1e-10);
  EXPECT_LT(found.orientation.max, 1e-10);
  EXPECT_LT(found.rpe.max, 1e-12);
  EXPECT_LT(found.drift_percent, 1e-9);
  EXPECT_DOUBLE_EQ(found.auc.at_30, 1);
  EXPECT_NEAR(found.estimate_length, found.truth_length, 1e-10);
  EXPECT_EQ(found.poses.size(), 40);
  EXPECT_EQ(found.relative_poses, 39);
}

TEST(Evaluate, LeavesWhatTheAlignmentMayNotChange) {
  const Trajectory truth = trajectory_of(wavy_path(40));
  const auto rmse = [&](const Sim3& map, Alignment alignment) {
    return evaluate(moved(map, truth), truth, {.alignment = alignment}).ate.rmse;
  };
  Sim3 rigid = kOther;
  rigid.scale = 1;
  EXPECT_LT(rmse(rigid, Alignment::se3), 1e-12);
  EXPECT_GT(rmse(kOther, Alignment::se3), 0.1);
  EXPECT_LT(rmse({.scale = 0.5}, Alignment::scale), 1e-12);
  EXPECT_GT(rmse(rigid, Alignment::scale), 0.1);
  EXPECT_EQ(rmse({}, Alignment::none), 0);
  EXPECT_GT(rmse({.scale = 0.5}, Alignment::none), 0.1);
}

TEST(Evaluate, MeasuresKnownErrors) {
  // A straight path of ten steps of one unit; the estimate turns by 6 degrees after five of them and stays beside it.
  std::vector<Vec3> straight;
  for (int i = 0; i <= 10; ++i) straight.push_back({0, 0, 1.0 * i});
  Trajectory truth = trajectory_of(straight);
  for (StampedPose& pose : truth.poses) pose.world_from_camera.rotation = Rigid3{}.rotation;
  Trajectory estimate = truth;
  for (std::size_t i = 6; i <= 10; ++i)
    estimate.poses[i].world_from_camera = {about_y(6), {0.5, 0, 1.0 * static_cast<double>(i)}};

  const TrajectoryEvaluation found = evaluate(estimate, truth, {.alignment = Alignment::none});
  EXPECT_NEAR(found.ate.max, 0.5, 1e-12);
  EXPECT_NEAR(found.ate.mean, 0.5 * 5 / 11, 1e-12);
  EXPECT_NEAR(found.ate_rotation.max, 6, 1e-12);
  EXPECT_NEAR(found.ate_rotation.median, 0, 1e-12);
  EXPECT_NEAR(found.orientation.max, 6.0 * 6 / 11, 1e-2);  // five of eleven are turned
  EXPECT_NEAR(found.orientation.min, 6.0 * 5 / 11, 1e-2);
  EXPECT_NEAR(found.rpe_rotation.max, 6, 1e-12);
  EXPECT_NEAR(found.rpe_rotation.mean, 0.6, 1e-12);
  EXPECT_NEAR(found.truth_length, 10, 1e-12);
  EXPECT_NEAR(found.ate_percent, 100 * 0.5 * std::sqrt(5.0 / 11) / 10, 1e-12);
  EXPECT_NEAR(found.drift_percent, 5, 1e-12);
  EXPECT_NEAR(found.drift_degrees, 6, 1e-12);
}

TEST(Evaluate, KnowsOrientationsAlsoWhereThePathIsStraight) {
  // A path along y that is straight but for a little, and an estimate that is a little out to the other side: the
  // alignment of centres turns it over.
  std::vector<Vec3> centres;
  std::vector<Vec3> mirrored;
  for (int i = 0; i <= 20; ++i) {
    const double aside = 1e-3 * i * (20 - i);
    centres.push_back({aside, 1.0 * i, 0});
    mirrored.push_back({-aside, 1.0 * i, 0});
  }
  Trajectory truth = trajectory_of(centres);
  Trajectory estimate = trajectory_of(mirrored);
  for (std::size_t i = 0; i < truth.poses.size(); ++i)
    truth.poses[i].world_from_camera.rotation = estimate.poses[i].world_from_camera.rotation = Rigid3{}.rotation;
  const TrajectoryEvaluation found = evaluate(estimate, truth);
  EXPECT_GT(found.ate_rotation.median, 90);
  EXPECT_LT(found.orientation.max, 1e-6);
}

TEST(Evaluate, TakesRelativePosesOneByOneOrFromAllPoses) {
  const Trajectory truth = trajectory_of(wavy_path(11));
  EXPECT_EQ(evaluate(truth, truth, {.delta = 5}).relative_poses, 2);
  EXPECT_EQ(evaluate(truth, truth, {.delta = 5, .all_pairs = true}).relative_poses, 6);
}

TEST(Evaluate, HasNoPercentOfAPathWithoutLength) {
  const Trajectory still = trajectory_of({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}});
  const TrajectoryEvaluation found = evaluate(still, still, {.alignment = Alignment::none});
  EXPECT_TRUE(std::isnan(found.ate_percent));
  EXPECT_TRUE(std::isnan(found.drift_percent));
  EXPECT_EQ(found.ate.rmse, 0);
}

TEST(Evaluate, NamesBothFilesOfWhatCannotBeAligned) {
  const Trajectory truth = trajectory_of(wavy_path(5), "truth.txt");
  const Trajectory still = trajectory_of(std::vector<Vec3>(5), "still.txt");
  expect_error(
      ErrorCode::input, [&] { (void)evaluate(still, truth); },
      HasSubstr("still.txt against truth.txt: alignment: found points that are all in one place"));
  const Trajectory two = trajectory_of(wavy_path(2), "two.txt");
  expect_error(
      ErrorCode::input, [&] { (void)evaluate(two, truth); },
      HasSubstr("two.txt against truth.txt: alignment: found 2 pairs of points"));
  EXPECT_EQ(evaluate(two, truth, {.alignment = Alignment::none}).poses.size(), 2);
}

TEST(Evaluate, RefusesDeltasThatDoNotFit) {
  const Trajectory truth = trajectory_of(wavy_path(5), "truth.txt");
  expect_error(
      ErrorCode::input, [&] { (void)evaluate(truth, truth, {.delta = 5}); },
      HasSubstr("found 5 pairs of poses, expected more than delta, which is 5"));
  expect_error(
      ErrorCode::usage, [&] { (void)evaluate(truth, truth, {.delta = 0}); }, HasSubstr("delta: found 0"));
}

TEST(RotationDegrees, IsExactNearBothEnds) {
  for (const double angle : {0.0, 1e-7, 1.0, 90.0, 179.0, 179.9999999, 180.0})
    EXPECT_NEAR(rotation_degrees(about_x(angle)), angle, 1e-12 * 180);
}

}  // namespace
}  // namespace lingbot_map
