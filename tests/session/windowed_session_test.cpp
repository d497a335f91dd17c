#include "lingbot_map/windowed_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "expect_error.hpp"
#include "frames.hpp"
#include "golden.hpp"
#include "windowed_oracle.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::relative_error;
using test::smooth_frame;
using test::smooth_frames;
using test::WindowedOracle;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kSide = 28;

class WindowedSessionTest : public testing::Test {
 protected:
  static const Model& model() {
    static const Model tiny = Model::synthetic(Config::tiny(), 17);  // its fields of view are not zero
    return tiny;
  }
  static WindowedOptions options(int scale_frames, int window_size, int interval, int overlap) {
    return {
        .session = {.scale_frames = scale_frames, .window = 3, .keyframe_interval = interval, .camera_iterations = 1},
        .window_size = window_size,
        .overlap_size = overlap};
  }
  static WindowedOptions flow_options(int scale_frames, int window_size, double threshold, int gap, int overlap) {
    WindowedOptions with = options(scale_frames, window_size, 1, overlap);
    with.session.flow_threshold = threshold;
    with.session.max_non_keyframe_gap = gap;
    return with;
  }

  static std::vector<FrameResult> run(WindowedSession& session, const std::vector<Image>& images) {
    std::vector<FrameResult> all;
    const auto take = [&all](std::vector<FrameResult> results) {
      for (FrameResult& result : results) all.push_back(std::move(result));
    };
    for (const Image& image : images) {
      session.submit(image);
      while (session.in_flight() > 1) take(session.collect());
    }
    take(session.finish());
    return all;
  }

  static void hold_against_oracle(const WindowedOptions& with, int frames) {
    SCOPED_TRACE(testing::Message() << frames << " frames, scale frames " << with.session.scale_frames << ", window "
                                    << with.window_size << ", interval " << with.session.keyframe_interval
                                    << ", overlap " << with.overlap_size << " or " << with.overlap_keyframes.value_or(0)
                                    << " keyframes, flow " << with.session.flow_threshold);
    const std::vector<Image> images = smooth_frames(frames, kSide, kSide);
    WindowedOracle oracle(model(), with);
    const std::vector<FrameResult> expected = oracle.run(images);
    WindowedSession session(model(), with);
    const std::vector<FrameResult> found = run(session, images);

    ASSERT_EQ(found.size(), static_cast<std::size_t>(frames));
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].index, static_cast<std::int64_t>(i));
      EXPECT_EQ(expected[i].index, found[i].index);
      EXPECT_EQ(found[i].type, expected[i].type) << "frame " << i;
      EXPECT_EQ(found[i].depth_conf, expected[i].depth_conf) << "frame " << i;
      EXPECT_LE(relative_error(found[i].depth, expected[i].depth), 1e-6) << "frame " << i;
      const auto pose = [](const FrameResult& r) { return std::vector<float>(r.pose_enc.begin(), r.pose_enc.end()); };
      EXPECT_LE(relative_error(pose(found[i]), pose(expected[i])), 2e-6) << "frame " << i;
    }
    ASSERT_EQ(session.windows().size(), oracle.windows.size());
    for (std::size_t b = 0; b < oracle.windows.size(); ++b) {
      const WindowRecord& window = session.windows()[b];
      EXPECT_EQ(window.first_frame, oracle.windows[b].first) << "window " << b;
      EXPECT_EQ(window.frames, std::ssize(oracle.windows[b].results)) << "window " << b;
      EXPECT_EQ(window.overlap, oracle.windows[b].overlap) << "window " << b;
      EXPECT_NEAR(window.scale / oracle.windows[b].scale, 1, 1e-6) << "window " << b;
    }
  }
};

TEST_F(WindowedSessionTest, ASequenceOfAnyLengthIsThePublicPlanForThatLength) {
  for (int frames = 1; frames <= 20; ++frames) hold_against_oracle(options(3, 6, 1, 3), frames);
}

TEST_F(WindowedSessionTest, IsThePublicPlanForEveryKindOfOverlap) {
  hold_against_oracle(options(3, 6, 1, 5), 15);  // all but one frame
  hold_against_oracle(options(4, 7, 1, 2), 21);  // fewer than the scale frames, which then see further
  hold_against_oracle(options(2, 5, 3, 6), 27);  // keyframes on two grids that meet
  hold_against_oracle(options(3, 5, 2, 4), 20);  // that meet in few frames
  hold_against_oracle(options(3, 5, 4, 5), 26);  // in the first frame alone
  hold_against_oracle(options(1, 8, 1, 4), 20);  // the sliding window moves within a window
  hold_against_oracle(options(4, 4, 1, 2), 11);  // nothing but scale frames
  hold_against_oracle(options(4, 2, 1, 1), 9);   // a window smaller than its scale frames
  hold_against_oracle(options(3, 5, 1, 0), 12);  // none: windows stay where they are
  WindowedOptions with = options(3, 6, 2, 16);
  with.overlap_keyframes = 2;
  hold_against_oracle(with, 24);
  with.overlap_keyframes = 1;  // the scale frames are more
  hold_against_oracle(with, 17);
}

TEST_F(WindowedSessionTest, WindowsByFlowEndWithTheirLastKeyframe) {
  constexpr double kNever = 1e12;
  for (const int frames : {1, 2, 7, 8, 9, 23}) hold_against_oracle(flow_options(2, 5, kNever, 2, 3), frames);
  hold_against_oracle(flow_options(2, 4, 1e-12, 100, 1), 17);
  hold_against_oracle(flow_options(2, 6, 60, 4, 5), 40);       // by the flow itself
  hold_against_oracle(flow_options(3, 5, 1e-12, 100, 4), 19);  // the overlap ends at the scale frames
  hold_against_oracle(flow_options(3, 3, 1e-12, 100, 0), 10);  // no streamed frame at all
}

TEST_F(WindowedSessionTest, PushGivesTheSame) {
  const std::vector<Image> images = smooth_frames(23, kSide, kSide);
  for (const WindowedOptions& with : {options(3, 6, 1, 3), flow_options(2, 5, 60, 3, 3)}) {
    WindowedSession submitted(model(), with);
    const std::vector<FrameResult> expected = run(submitted, images);
    WindowedSession pushed(model(), with);
    std::vector<FrameResult> all;
    for (const Image& image : images)
      for (FrameResult& result : pushed.push(image)) all.push_back(std::move(result));
    for (FrameResult& result : pushed.finish()) all.push_back(std::move(result));
    ASSERT_EQ(all.size(), expected.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].pose_enc, expected[i].pose_enc);
      EXPECT_EQ(all[i].depth, expected[i].depth);
    }
    EXPECT_TRUE(pushed.finish().empty());
  }
}

/// Nothing waits but the frames in common: of a window of 8 with 3 in common the first 5 leave when they are computed.
TEST_F(WindowedSessionTest, OnlyTheCommonFramesWait) {
  WindowedSession session(model(), options(2, 8, 1, 3));
  std::int64_t given = 0;
  for (int i = 0; i < 40; ++i) {
    given += std::ssize(session.push(smooth_frame(i, kSide, kSide)));
    const int in_window = i < 8 ? i + 1 : (i - 8) % 5 + 4;
    const std::int64_t waiting = std::max(0, std::min(in_window - 5, 3));
    EXPECT_EQ(given, i < 1 ? 0 : i + 1 - waiting) << "after frame " << i;
    EXPECT_EQ(session.held_results(), static_cast<std::size_t>(i < 1 ? 0 : waiting)) << "after frame " << i;
    EXPECT_LE(session.cache_stats().frame_count, 8);
  }
  EXPECT_EQ(given + std::ssize(session.finish()), 40);
}

TEST_F(WindowedSessionTest, WhatIsHeldIsBoundedWhenTheCallerIsSlow) {
  const WindowedOptions with = flow_options(2, 5, 1e12, 7, 9);
  EXPECT_THROW(WindowedSession(model(), with), Error);
  WindowedSession session(model(), flow_options(2, 12, 1e12, 7, 9));
  for (int i = 0; i < 300; ++i) {
    session.submit(smooth_frame(i % 7, kSide, kSide));
    if (i % 3 == 2) (void)session.collect();
    EXPECT_LE(session.held_results(), 18U);
    EXPECT_LE(session.in_flight(), 2);
  }
}

TEST_F(WindowedSessionTest, NoFramesGiveNoResults) {
  WindowedSession session(model(), options(3, 6, 1, 3));
  EXPECT_TRUE(session.collect().empty());
  EXPECT_TRUE(session.finish().empty());
  ASSERT_EQ(session.windows().size(), 1U);
  EXPECT_EQ(session.windows()[0].frames, 0);
  EXPECT_EQ(session.attention(), AttentionKind::sdpa);
}

TEST_F(WindowedSessionTest, QuaternionsHaveLengthOne) {
  WindowedSession session(model(), options(3, 6, 1, 3));
  for (const FrameResult& result : run(session, smooth_frames(14, kSide, kSide))) {
    const auto& p = result.pose_enc;
    EXPECT_NEAR(std::hypot(std::hypot(p[3], p[4], p[5]), p[6]), 1, 1e-6);
    EXPECT_GE(p[6], 0);
  }
}

TEST_F(WindowedSessionTest, WorldPointsAreMovedWithTheirWindow) {
  Config config = Config::tiny();
  config.has_point_head = true;
  const Model points = Model::synthetic(config, 17);
  const std::vector<Image> images = smooth_frames(9, kSide, kSide);
  WindowedOptions with = options(2, 5, 1, 2);
  WindowedSession session(points, with);
  const std::vector<FrameResult> found = run(session, images);
  Session alone(points, with.session);
  std::vector<FrameResult> window;
  for (int i = 3; i < 8; ++i)
    for (FrameResult& result : alone.push(images[static_cast<std::size_t>(i)])) window.push_back(std::move(result));
  const WindowRecord& record = session.windows().at(1);
  const std::vector<float>& own = window[2].world_points;
  const std::vector<float>& placed = found[5].world_points;
  ASSERT_EQ(own.size(), placed.size());
  for (std::size_t i = 0; i < own.size(); i += 3) {
    for (std::size_t row = 0; row < 3; ++row) {
      double expected = record.transform[row * 4 + 3];
      for (std::size_t c = 0; c < 3; ++c) expected += record.scale * record.transform[row * 4 + c] * own[i + c];
      ASSERT_NEAR(placed[i + row], expected, 1e-5 * std::max(1.0, std::abs(expected)));
    }
  }
  EXPECT_EQ(found[5].world_points_conf, window[2].world_points_conf);
}

TEST_F(WindowedSessionTest, RefusedFramesLeaveItAsItWas) {
  WindowedSession session(model(), options(3, 6, 1, 3));
  const std::vector<Image> images = smooth_frames(14, kSide, kSide);
  std::vector<FrameResult> all;
  for (const Image& image : images) {
    expect_error(
        ErrorCode::usage, [&] { (void)session.push(Image(kSide + 1, kSide)); }, HasSubstr("29x28"));
    if (&image != images.data())
      expect_error(
          ErrorCode::usage, [&] { (void)session.push(smooth_frame(0, 56, kSide)); },
          AllOf(HasSubstr("56x28"), HasSubstr("28x28")));
    for (FrameResult& result : session.push(image)) all.push_back(std::move(result));
  }
  for (FrameResult& result : session.finish()) all.push_back(std::move(result));
  WindowedSession plain(model(), options(3, 6, 1, 3));
  const std::vector<FrameResult> expected = run(plain, images);
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].pose_enc, expected[i].pose_enc);
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(images[0]); }, HasSubstr("finish"));
}

TEST_F(WindowedSessionTest, RefusesWindowsThatWouldLoseFrames) {
  const auto refused = [](const WindowedOptions& with, const auto& text) {
    expect_error(
        ErrorCode::usage, [&] { (void)WindowedSession(model(), with); }, text);
  };
  refused(options(8, 64, 1, 64), AllOf(HasSubstr("overlap_size is 64"), HasSubstr("a window has 64 frames"),
                                       HasSubstr("8 scale frames, window_size 64")));
  refused(options(8, 12, 1, 16), HasSubstr("a window has 12 frames"));
  refused(options(8, 8, 5, 8), HasSubstr("a window has 8 frames"));
  refused(options(3, 6, 1, -1), HasSubstr("overlap_size is -1"));
  refused(options(3, 0, 1, 1), HasSubstr("window_size is 0"));
  refused(options(3, -5, 1, 1), HasSubstr("window_size is -5"));
  refused(options(0, 6, 1, 1), HasSubstr("scale_frames is 0"));
  refused(options(3, 6, 0, 1), HasSubstr("keyframe_interval is 0"));
  WindowedOptions with = options(3, 5, 2, 1);
  with.overlap_keyframes = 4;
  refused(with, AllOf(HasSubstr("overlap_keyframes is 4, an overlap of 8 frames"), HasSubstr("a window has 7 frames")));
  with.overlap_keyframes = 0;
  refused(with, HasSubstr("overlap_keyframes is 0"));
  with.overlap_keyframes = std::numeric_limits<int>::max();
  with.session.keyframe_interval = std::numeric_limits<int>::max();
  refused(with, HasSubstr("an overlap of 4611686014132420609 frames"));
  refused(flow_options(8, 8, 5, 10, 4), AllOf(HasSubstr("window_size is 8"), HasSubstr("no frame in common")));
  refused(flow_options(8, 10, 5, 10, 16), AllOf(HasSubstr("as few as 10 frames"), HasSubstr("overlap_size is 16")));
  refused(flow_options(3, 6, -2, 10, 2), HasSubstr("flow_threshold is -2"));
}

TEST_F(WindowedSessionTest, ThePlanIsThatOfAWindow) {
  const WindowedOptions with = options(3, 10, 2, 4);
  EXPECT_EQ(WindowedSession::extent(with).frames, 17);
  EXPECT_EQ(WindowedSession::extent(with).overlap, 4);
  const MemoryPlan plan = WindowedSession::plan(model(), with, kSide, kSide);
  EXPECT_EQ(plan.cache_slots, Session::plan(model(), with.session, kSide, kSide).cache_slots);
  WindowedOptions wide = with;  // a sliding window that a window cannot fill takes no more than it can
  wide.session.window = 1000;
  EXPECT_EQ(WindowedSession::plan(model(), wide, kSide, kSide).cache_slots, plan.cache_slots * (7 + 4) / (3 + 4));
  EXPECT_THROW((void)WindowedSession::plan(model(), options(3, 4, 1, 4), kSide, kSide), Error);
  WindowedSession session(model(), with);
  (void)run(session, smooth_frames(60, kSide, kSide));
  EXPECT_LE(session.cache_bytes(), plan.cache_slots + (10 + 1) * plan.per_kept_frame) << "and one on its way";
}

}  // namespace
}  // namespace lingbot_map
