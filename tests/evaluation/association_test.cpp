#include "evaluation/association.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "expect_error.hpp"
#include "small_trajectories.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

Trajectory at_times(const std::vector<double>& times, const std::string& name) {
  Trajectory trajectory;
  trajectory.name = name;
  trajectory.frame_times = times;
  for (std::size_t i = 0; i < times.size(); ++i)
    trajectory.poses.push_back({times[i], static_cast<std::int64_t>(i), {}});
  return trajectory;
}

using FramePairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

FramePairs frames_of(const std::vector<PosePair>& pairs) {
  FramePairs frames;
  for (const PosePair& pair : pairs) frames.emplace_back(pair.estimate_frame, pair.truth_frame);
  return frames;
}

TEST(Association, TakesTheNearestInTime) {
  const Trajectory estimate = at_times({0.5, 1.004, 2.5, 3.009}, "estimate");
  const Trajectory truth = at_times({0, 1, 2, 3, 3.01, 4}, "truth");
  const std::vector<PosePair> pairs = associate(estimate, truth);
  EXPECT_EQ(frames_of(pairs), (FramePairs{{1, 1}, {3, 4}}));
  EXPECT_EQ(pairs[1].time, 3.01);
  EXPECT_EQ(frames_of(associate(estimate, truth, 0.5)), (FramePairs{{0, 0}, {1, 1}, {2, 2}, {3, 4}}));
}

TEST(Association, StartsFromTheTrajectoryWithFewerPoses) {
  const Trajectory estimate = at_times({0, 0.1, 0.2, 0.3, 0.4}, "estimate");
  const Trajectory truth = at_times({0.101, 0.399}, "truth");
  EXPECT_EQ(frames_of(associate(estimate, truth)), (FramePairs{{1, 0}, {4, 1}}));
}

TEST(Association, GoesByFrameWithoutTimes) {
  Trajectory estimate = at_times({100, 101, 102}, "estimate");
  Trajectory truth = at_times({0, 1, 2, 3}, "truth");
  truth.has_times = false;
  estimate.poses.erase(estimate.poses.begin() + 1);  // a frame without a pose
  EXPECT_EQ(frames_of(associate(estimate, truth)), (FramePairs{{0, 0}, {2, 2}}));
}

TEST(Association, SaysWhichTimesDoNotMeet) {
  const Trajectory estimate = at_times({0, 0.1, 0.2}, "estimate.txt");
  const Trajectory truth = at_times({1305031102.1753, 1305031103.25}, "truth.txt");
  expect_error(
      ErrorCode::input, [&] { (void)associate(estimate, truth); },
      AllOf(HasSubstr("estimate.txt: found times of 0 to 0.2 s"),
            HasSubstr("in truth.txt (1305031102.1753 to 1305031103.25 s) within 0.01 s")));
}

TEST(Association, RefusesADifferenceThatIsNone) {
  const Trajectory some = at_times({0}, "some");
  for (const double difference : {-0.1, std::numeric_limits<double>::quiet_NaN()})
    expect_error(
        ErrorCode::usage, [&] { (void)associate(some, some, difference); }, HasSubstr("max_time_difference"));
  expect_error(
      ErrorCode::input, [&] { (void)associate(some, at_times({}, "empty")); }, HasSubstr("empty: found no pose"));
}

}  // namespace
}  // namespace lingbot_map
