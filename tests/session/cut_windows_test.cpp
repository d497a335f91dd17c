#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cut_oracle.hpp"
#include "expect_error.hpp"
#include "frames.hpp"
#include "golden.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map {
namespace {

using test::CutAt;
using test::CutOracle;
using test::expect_error;
using test::relative_error;
using test::smooth_frame;
using test::smooth_frames;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kSide = 28;

std::vector<float> pose_of(const FrameResult& result) { return {result.pose_enc.begin(), result.pose_enc.end()}; }

class CutWindows : public testing::Test {
 protected:
  static const Model& model() {
    static const Model tiny = Model::synthetic(Config::tiny(), 17);
    return tiny;
  }
  static WindowedOptions options(int scale_frames, int window_size, int interval, int overlap) {
    return {
        .session = {.scale_frames = scale_frames, .window = 3, .keyframe_interval = interval, .camera_iterations = 1},
        .window_size = window_size,
        .overlap_size = overlap,
        .cuts = true};
  }
  static WindowedOptions endless(int scale_frames, int interval, int overlap) {
    WindowedOptions with = options(scale_frames, 1, interval, overlap);
    with.endless = true;
    return with;
  }

  /// Pushes all images, `ahead` of the results, and cuts at each of these frames when its result comes.
  static std::vector<FrameResult> run(WindowedSession& session, const std::vector<Image>& images, int ahead,
                                      const std::vector<std::int64_t>& frames, std::vector<CutAt>& cuts) {
    std::vector<FrameResult> all;
    const auto take = [&](std::vector<FrameResult> results) {
      for (FrameResult& result : results) {
        EXPECT_EQ(result.index, std::ssize(all));
        if (cuts.size() < frames.size() && result.index == frames[cuts.size()]) {
          cuts.push_back({result.index, session.frames_pushed()});
          session.cut(result.index);
          return true;
        }
        all.push_back(std::move(result));
      }
      return false;
    };
    for (const Image& image : images) {
      session.submit(image);
      while (session.in_flight() > ahead) take(session.collect());
    }
    while (take(session.finish())) {
    }
    return all;
  }

  static void hold_against_oracle(const WindowedOptions& with, int count, const std::vector<std::int64_t>& frames,
                                  int ahead = 1) {
    SCOPED_TRACE(testing::Message() << count << " frames cut at " << testing::PrintToString(frames) << ", scale frames "
                                    << with.session.scale_frames << ", window " << with.window_size << ", interval "
                                    << with.session.keyframe_interval << ", overlap " << with.overlap_size
                                    << (with.endless ? ", endless" : "") << ", ahead " << ahead);
    const std::vector<Image> images = smooth_frames(count, kSide, kSide);
    WindowedSession session(model(), with);
    std::vector<CutAt> cuts;
    const std::vector<FrameResult> found = run(session, images, ahead, frames, cuts);
    ASSERT_EQ(cuts.size(), frames.size());
    CutOracle oracle(model(), with, images);
    const std::vector<FrameResult> expected = oracle.run(cuts);

    ASSERT_EQ(found.size(), images.size());
    ASSERT_EQ(expected.size(), images.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].type, expected[i].type) << "frame " << i;
      EXPECT_EQ(found[i].depth_conf, expected[i].depth_conf) << "frame " << i;
      EXPECT_LE(relative_error(found[i].depth, expected[i].depth), 1e-6) << "frame " << i;
      EXPECT_LE(relative_error(pose_of(found[i]), pose_of(expected[i])), 1e-5) << "frame " << i;
    }
    ASSERT_EQ(session.windows().size(), oracle.windows.size());
    for (std::size_t b = 0; b < oracle.windows.size(); ++b) {
      const WindowRecord& window = session.windows()[b];
      EXPECT_EQ(window.first_frame, oracle.windows[b].first) << "window " << b;
      EXPECT_EQ(window.frames, oracle.windows[b].frames) << "window " << b;
      EXPECT_EQ(window.overlap, oracle.windows[b].overlap) << "window " << b;
      EXPECT_EQ(window.first_given, oracle.windows[b].first_given) << "window " << b;
      EXPECT_NEAR(window.scale / oracle.windows[b].scale, 1, 1e-6) << "window " << b;
    }
  }
};

TEST_F(CutWindows, AnEndlessWindowThatIsNotCutIsASession) {
  const std::vector<Image> images = smooth_frames(15, kSide, kSide);
  for (const int interval : {1, 3}) {
    const WindowedOptions with = endless(3, interval, 4);
    WindowedSession session(model(), with);
    Session plain(model(), with.session);
    for (const Image& image : images) {
      const std::vector<FrameResult> found = session.push(image);
      const std::vector<FrameResult> expected = plain.push(image);
      ASSERT_EQ(found.size(), expected.size()) << "nothing waits";
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].index, expected[i].index);
        EXPECT_EQ(found[i].pose_enc, expected[i].pose_enc);
        EXPECT_EQ(found[i].depth, expected[i].depth);
      }
    }
    EXPECT_EQ(session.cache_stats().frame_count, plain.cache_stats().frame_count);
    EXPECT_EQ(session.windows().size(), 1U);
  }
}

TEST_F(CutWindows, AStreamIsCutAtAnyFrame) {
  for (const std::int64_t frame : {1, 2, 3, 4, 5, 6, 8, 10}) hold_against_oracle(endless(3, 1, 4), 11, {frame});
}

TEST_F(CutWindows, AStreamIsCutWithEveryKindOfOverlap) {
  hold_against_oracle(endless(4, 1, 2), 17, {9});       // scale frames see behind the cut
  hold_against_oracle(endless(2, 3, 6), 22, {11, 17});  // keyframes on two grids
  hold_against_oracle(endless(3, 4, 5), 20, {12});      // that meet in one frame
  hold_against_oracle(endless(1, 1, 1), 12, {5, 6, 7, 11});
  hold_against_oracle(endless(3, 1, 50), 16, {3, 9});  // of all frames so far
}

TEST_F(CutWindows, WindowsAreCutAtAnyFrame) {
  for (const std::int64_t frame : {1, 3, 4, 5, 6, 7, 8, 11}) hold_against_oracle(options(3, 6, 1, 3), 12, {frame});
  for (const std::int64_t frame : {7, 8, 9}) hold_against_oracle(options(2, 6, 1, 5), 12, {frame});
  for (const std::int64_t frame : {9, 10, 12}) hold_against_oracle(options(2, 5, 2, 4), 19, {frame, frame + 2});
}

/// Windows that were begun, or even placed, behind the frame are undone.
TEST_F(CutWindows, ACutMayComeLate) {
  for (const int ahead : {0, 2})
    for (const std::int64_t frame : {2, 5, 6, 8}) hold_against_oracle(options(3, 6, 1, 3), 15, {frame}, ahead);
  const WindowedOptions with = options(2, 4, 1, 2);
  const std::vector<Image> images = smooth_frames(16, kSide, kSide);
  WindowedSession session(model(), with);
  for (const Image& image : images) session.submit(image);
  std::vector<FrameResult> all = session.collect();
  ASSERT_GT(all.size(), 8U) << "several windows were placed";
  all.resize(5);
  session.cut(5);
  for (FrameResult& result : session.finish()) all.push_back(std::move(result));
  CutOracle oracle(model(), with, images);
  const std::vector<FrameResult> expected = oracle.run({{5, 16}});
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index, expected[i].index);
    EXPECT_LE(relative_error(pose_of(all[i]), pose_of(expected[i])), 1e-5) << "frame " << i;
  }
}

/// At a frame that has no result yet, or was not even pushed: what was pushed before is as if it were all.
TEST_F(CutWindows, ACutMayComeBeforeTheFrame) {
  const std::vector<Image> images = smooth_frames(14, kSide, kSide);
  for (const WindowedOptions& with : {endless(3, 1, 4), options(3, 6, 1, 3)})
    for (const std::int64_t frame : {1, 2, 5, 7, 10}) {
      SCOPED_TRACE(frame);
      WindowedSession session(model(), with);
      std::vector<FrameResult> all;
      for (const Image& image : images) {
        if (session.frames_pushed() == frame) session.cut(frame);
        for (FrameResult& result : session.push(image)) all.push_back(std::move(result));
      }
      for (FrameResult& result : session.finish()) all.push_back(std::move(result));
      CutOracle oracle(model(), with, images);
      const std::vector<FrameResult> expected = oracle.run({{frame, frame}});
      ASSERT_EQ(all.size(), expected.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].index, expected[i].index);
        EXPECT_EQ(all[i].type, expected[i].type);
        EXPECT_LE(relative_error(pose_of(all[i]), pose_of(expected[i])), 1e-5) << "frame " << i;
      }
    }
}

TEST_F(CutWindows, FramesThatAreKeptByFlowAreCut) {
  for (WindowedOptions with : {endless(2, 1, 3), options(2, 6, 1, 3)}) {
    with.session.flow_threshold = 60;
    with.session.max_non_keyframe_gap = 4;
    const std::vector<Image> images = smooth_frames(24, kSide, kSide);
    WindowedSession session(model(), with);
    std::vector<CutAt> cuts;
    const std::vector<FrameResult> found = run(session, images, 1, {13}, cuts);
    ASSERT_EQ(found.size(), images.size());
    const auto window =
        std::ranges::find_if(session.windows(), [](const WindowRecord& w) { return w.first_given == 13; });
    ASSERT_NE(window, session.windows().end());
    EXPECT_EQ(window->first_frame, 10);
    EXPECT_EQ(window->overlap, 3);
    // A session of its own over the new window says the same of its frames.
    Session alone(model(), with.session);
    for (std::int64_t i = 10; i < window->first_frame + (with.endless ? 14 : 3); ++i)
      for (const FrameResult& result : alone.push(images[static_cast<std::size_t>(i)]))
        if (result.index >= 3) {
          EXPECT_EQ(found[static_cast<std::size_t>(10 + result.index)].type, result.type);
          EXPECT_EQ(found[static_cast<std::size_t>(10 + result.index)].depth_conf, result.depth_conf);
        }
  }
}

TEST_F(CutWindows, WhatIsKeptDoesNotGrow) {
  WindowedSession session(model(), endless(3, 1, 4));
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    for (const FrameResult& result : session.push(smooth_frame(i % 7, kSide, kSide)))
      if (result.index % 20 == 19 && std::ssize(session.windows()) <= (result.index + 1) / 20) {
        session.cut(result.index);
        break;
      }
    EXPECT_EQ(session.held_results(), 0U);
    if (i == 45) most = session.cache_bytes();
    if (i > 45) {
      EXPECT_LE(session.cache_bytes(), most) << "after frame " << i;
    }
    EXPECT_LE(session.cache_stats().frame_count, 25);
  }
  EXPECT_EQ(session.windows().size(), 6U);
}

TEST_F(CutWindows, OnlyFramesWhoseResultsCameLastCanBeCutAt) {
  const auto refused = [](WindowedSession& session, std::int64_t frame, const auto& line) {
    expect_error(
        ErrorCode::usage, [&] { session.cut(frame); }, line);
  };
  WindowedSession session(model(), endless(3, 1, 4));
  refused(session, 0, HasSubstr("no frame was pushed"));
  for (const Image& image : smooth_frames(9, kSide, kSide)) (void)session.push(image);
  refused(session, 7, AllOf(HasSubstr("cut at frame 7: expected 8 to 9")));
  refused(session, 10, HasSubstr("expected 8 to 9"));
  refused(session, -1, HasSubstr("expected 8 to 9"));
  session.cut(8);
  EXPECT_EQ(session.frames_final(), 8);
  EXPECT_EQ(session.frames_pushed(), 9);
  WindowedSession fresh(model(), endless(3, 1, 4));
  for (const Image& image : smooth_frames(3, kSide, kSide)) (void)fresh.push(image);
  refused(fresh, 0, HasSubstr("expected 1 to 3"));
  WindowedOptions without = options(3, 6, 1, 3);
  without.cuts = false;
  WindowedSession uncut(model(), without);
  for (const Image& image : smooth_frames(4, kSide, kSide)) (void)uncut.push(image);
  refused(uncut, 3, HasSubstr("set WindowedOptions::cuts"));
}

TEST_F(CutWindows, OptionsMustLetACutWindowBePlaced) {
  const auto refused = [](const WindowedOptions& with, const char* line) {
    expect_error(
        ErrorCode::usage, [&] { (void)WindowedSession(model(), with); }, HasSubstr(line));
  };
  refused(options(3, 6, 1, 0), "overlap_size is 0, but after a cut");
  refused(endless(3, 1, 0), "overlap_size is 0");
  WindowedOptions with = endless(3, 1, 4);
  with.cuts = false;
  refused(with, "endless windows without cuts");
  EXPECT_EQ(WindowedSession::extent(endless(3, 2, 4)).overlap, 4);
  const MemoryPlan plan = WindowedSession::plan(model(), endless(3, 1, 4), kSide, kSide);
  EXPECT_EQ(plan.cache_slots, Session::plan(model(), endless(3, 1, 4).session, kSide, kSide).cache_slots);
}

}  // namespace
}  // namespace lingbot_map
