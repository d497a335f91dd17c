#include "evaluation/pose_auc.hpp"

#include <gtest/gtest.h>

#include "geometry/similarity.hpp"
#include "small_trajectories.hpp"

namespace lingbot_map {
namespace {

using test::about_x;
using test::about_y;
using test::trajectory_of;
using test::wavy_path;

std::vector<PosePair> pairs_of(int count) {
  const Trajectory truth = trajectory_of(wavy_path(count));
  return associate(truth, truth);
}

TEST(PoseAuc, IsOneForThePerfectEstimateInAnyWorld) {
  std::vector<PosePair> pairs = pairs_of(30);
  const Sim3 other = {0.2, about_x(77), {4, 5, 6}};
  for (PosePair& pair : pairs) pair.estimate = other * pair.estimate;
  const PoseAuc found = pose_auc(pairs);
  EXPECT_DOUBLE_EQ(found.at_5, 1);
  EXPECT_DOUBLE_EQ(found.at_15, 1);
  EXPECT_DOUBLE_EQ(found.at_30, 1);
  EXPECT_EQ(found.camera_pairs, 30 * 29 / 2);
}

/// Two cameras, the second of which is turned too far and stands in a wrong direction.
PoseAuc auc_of(double turned, double direction) {
  const double angle = direction * std::acos(-1.0) / 180;
  std::vector<PosePair> pairs(2);
  pairs[1].truth.translation = {0, 0, 2};
  pairs[1].estimate = {about_y(turned), {0.5 * std::sin(angle), 0, 0.5 * std::cos(angle)}};
  return pose_auc(pairs);
}

TEST(PoseAuc, AveragesTheRecallOverWholeDegrees) {
  // An error of 2.5 degrees is below 3, 4 and 5 of the first five.
  EXPECT_DOUBLE_EQ(auc_of(2.5, 0).at_5, 3.0 / 5);
  EXPECT_DOUBLE_EQ(auc_of(2.5, 0).at_15, 13.0 / 15);
  EXPECT_DOUBLE_EQ(auc_of(2.5, 0).at_30, 28.0 / 30);
}

TEST(PoseAuc, TakesTheLargerOfTheTwoAngles) {
  EXPECT_DOUBLE_EQ(auc_of(2.5, 7.5).at_15, 8.0 / 15);
  EXPECT_DOUBLE_EQ(auc_of(7.5, 2.5).at_15, 8.0 / 15);
  EXPECT_DOUBLE_EQ(auc_of(40, 0).at_30, 0);
  EXPECT_DOUBLE_EQ(auc_of(0, 40).at_30, 0);
}

TEST(PoseAuc, ComparesDirectionsAsLines) { EXPECT_DOUBLE_EQ(auc_of(0, 180).at_30, 1); }

TEST(PoseAuc, KnowsCamerasThatDoNotMove) {
  std::vector<PosePair> pairs(2);
  EXPECT_EQ(pose_auc(pairs).at_5, 1);  // neither moves
  pairs[1].truth.translation = {0, 0, 1};
  EXPECT_EQ(pose_auc(pairs).at_30, 0);  // only the true one does
}

TEST(PoseAuc, OfFewPosesIsZero) {
  EXPECT_EQ(pose_auc({}).at_30, 0);
  EXPECT_EQ(pose_auc(std::vector<PosePair>(1)).camera_pairs, 0);
}

TEST(PoseAuc, SpreadsOverLongSequences) {
  const PoseAuc found = pose_auc(pairs_of(5000));
  EXPECT_EQ(found.camera_pairs, std::int64_t{4000} * 3999 / 2);
  EXPECT_DOUBLE_EQ(found.at_5, 1);
}

}  // namespace
}  // namespace lingbot_map
