#include "export/track_finder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "wall_frames.hpp"

namespace lingbot_map {
namespace {

using test::wall_frame;
using test::wall_meta;

constexpr TrackFinder::Settings kSettings{.conf_threshold = 1.5, .cell = 3, .voxel_size = 0};

struct Found {
  std::vector<TrackFinder::Frame> frames;
  std::vector<TrackFinder::Point> points;

  void add(TrackFinder::Finished&& finished) {
    std::ranges::move(finished.frames, std::back_inserter(frames));
    std::ranges::move(finished.points, std::back_inserter(points));
  }
};

void add(TrackFinder& finder, const FrameResult& frame, Found& found) {
  const FrameMeta meta = wall_meta(frame.index);
  found.add(finder.add(pose_frame(frame, meta), meta.original));
}

Found found_in(std::int64_t frames, const TrackFinder::Settings& settings = kSettings) {
  TrackFinder finder(settings);
  Found found;
  for (std::int64_t i = 0; i < frames; ++i) add(finder, wall_frame(i), found);
  found.add(finder.finish());
  return found;
}

TEST(TrackFinder, FindsPointsOfTheWallThatSeveralFramesSee) {
  const Found found = found_in(12);
  ASSERT_EQ(found.frames.size(), 12);
  ASSERT_GT(found.points.size(), 80);  // a frame has 11 x 8 cells
  for (const TrackFinder::Point& point : found.points) {
    EXPECT_GE(point.track.size(), 2);
    EXPECT_NEAR(point.position[2], 4 + point.position[0] / 4, 1e-4);
    // A pixel's middle is at most half a pixel (of the original: a whole one) from where the point really is.
    EXPECT_LE(point.error, 1.5);
  }
}

TEST(TrackFinder, TracksAndFramesNameEachOther) {
  const Found found = found_in(12);
  std::map<std::int64_t, const TrackFinder::Point*> by_id;
  for (const TrackFinder::Point& point : found.points) EXPECT_TRUE(by_id.emplace(point.id, &point).second);
  std::size_t places = 0;
  for (const TrackFinder::Point& point : found.points) {
    std::int64_t last = -1;
    for (const auto& [frame, observation] : point.track) {
      EXPECT_GT(frame, last);
      EXPECT_LE(frame - (last < 0 ? frame : last), TrackFinder::kGap);
      last = frame;
      const auto& seen = found.frames.at(static_cast<std::size_t>(frame));
      EXPECT_EQ(seen.observations.at(static_cast<std::size_t>(observation)).point, point.id);
      ++places;
    }
  }
  std::size_t observations = 0;
  for (const TrackFinder::Frame& frame : found.frames) observations += frame.observations.size();
  EXPECT_EQ(places, observations);  // none is left over, none is used twice
}

TEST(TrackFinder, ACellHasRoomForOneTrack) {
  for (const TrackFinder::Frame& frame : found_in(12).frames) {
    std::map<std::pair<int, int>, int> cells;
    for (const auto& [u, v, point] : frame.observations)
      EXPECT_EQ(++cells[std::pair(static_cast<int>(u) / 3, static_cast<int>(v) / 3)], 1);
  }
}

TEST(TrackFinder, TheMostConfidentPixelOfACellStartsATrack) {
  const Found found = found_in(2);
  for (const auto& [u, v, point] : found.frames.at(0).observations) {
    EXPECT_EQ(static_cast<int>(u) % 3, 0);
    EXPECT_EQ(static_cast<int>(v) % 3, 0);
    EXPECT_EQ(u - std::floor(u), 0.5F);
  }
}

TEST(TrackFinder, DepthThatDisagreesEndsTracks) {
  TrackFinder finder(kSettings);
  Found found;
  add(finder, wall_frame(0), found);
  FrameResult nearer = wall_frame(1);
  for (float& depth : nearer.depth) depth *= 0.95F;
  add(finder, nearer, found);
  found.add(finder.finish());
  EXPECT_TRUE(found.points.empty());

  TrackFinder lenient(kSettings);
  Found some;
  add(lenient, wall_frame(0), some);
  FrameResult almost = wall_frame(1);
  for (float& depth : almost.depth) depth *= 0.99F;
  add(lenient, almost, some);
  some.add(lenient.finish());
  EXPECT_FALSE(some.points.empty());
}

TEST(TrackFinder, PixelsBelowTheThresholdAreNoObservations) {
  TrackFinder::Settings settings = kSettings;
  settings.conf_threshold = 3.5;
  for (const TrackFinder::Frame& frame : found_in(6, settings).frames)
    for (const auto& [u, v, point] : frame.observations) {
      EXPECT_EQ(static_cast<int>(u) % 3, 0);
      EXPECT_EQ(static_cast<int>(v) % 3, 0);
    }
  settings.conf_threshold = 5;
  EXPECT_TRUE(found_in(6, settings).points.empty());
}

TEST(TrackFinder, AFrameWithoutACameraIsPassedOver) {
  TrackFinder finder(kSettings);
  Found found;
  for (std::int64_t i = 0; i < 6; ++i) {
    FrameResult frame = wall_frame(i);
    if (i == 3) frame.pose_enc[3] = frame.pose_enc[4] = frame.pose_enc[5] = frame.pose_enc[6] = 0;
    add(finder, frame, found);
  }
  found.add(finder.finish());
  std::vector<std::int64_t> frames;
  for (const TrackFinder::Frame& frame : found.frames) frames.push_back(frame.index);
  EXPECT_THAT(frames, testing::ElementsAre(0, 1, 2, 4, 5));
  for (const TrackFinder::Point& point : found.points)
    for (const auto& [frame, observation] : point.track) EXPECT_NE(frame, 3);
  EXPECT_FALSE(found.points.empty());
}

TEST(TrackFinder, ACubeOfTheGridHasOnePoint) {
  TrackFinder::Settings settings = kSettings;
  settings.voxel_size = 1;
  const Found few = found_in(12, settings);
  EXPECT_FALSE(few.points.empty());
  EXPECT_LT(few.points.size(), found_in(12).points.size() / 2);
}

TEST(TrackFinder, ACameraThatStandsStillHoldsNoMoreThanAFew) {
  TrackFinder finder(kSettings);
  Found found;
  FrameResult frame = wall_frame(0);
  for (std::int64_t i = 0; i < 200; ++i) {
    frame.index = i;
    add(finder, frame, found);
    // Frames leave kGap frames late, and tracks when they are full.
    EXPECT_EQ(static_cast<std::int64_t>(found.frames.size()), std::max<std::int64_t>(0, i + 1 - TrackFinder::kGap));
  }
  EXPECT_GE(found.points.size(), 200U / TrackFinder::kMostObservations * 80);
  for (const TrackFinder::Point& point : found.points) {
    EXPECT_LE(point.track.size(), TrackFinder::kMostObservations);
    EXPECT_NEAR(point.error, 0, 1e-3);
  }
}

}  // namespace
}  // namespace lingbot_map
