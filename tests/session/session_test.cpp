#include "lingbot_map/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "expect_error.hpp"
#include "lingbot_map/error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;

constexpr int kWidth = 84;
constexpr int kHeight = 56;

/// A frame of smooth colours that depend on `seed`.
Image frame(int seed, int width = kWidth, int height = kHeight) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) * 3 +
                     static_cast<std::size_t>(c)] =
            static_cast<std::uint8_t>((x * (3 + c) + y * 5 + seed * 37 + x * y * seed) % 256);
      }
    }
  }
  return image;
}

class SessionTest : public testing::Test {
 protected:
  static const Model& model() {
    static const Model tiny = Model::synthetic(Config::tiny(), 1);
    return tiny;
  }
  static SessionOptions options(int interval = 1) {
    return {.scale_frames = 3, .window = 4, .keyframe_interval = interval, .camera_iterations = 2};
  }
  static std::vector<FrameResult> run(const Model& of, const SessionOptions& with, int frames) {
    Session session(of, with);
    std::vector<FrameResult> all;
    for (int i = 0; i < frames; ++i) {
      for (FrameResult& result : session.push(frame(i))) all.push_back(std::move(result));
    }
    for (FrameResult& result : session.finish()) all.push_back(std::move(result));
    return all;
  }
  static void expect_equal(const std::vector<FrameResult>& a, const std::vector<FrameResult>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].index, b[i].index);
      EXPECT_EQ(a[i].type, b[i].type);
      EXPECT_EQ(a[i].pose_enc, b[i].pose_enc) << "frame " << i;
      EXPECT_EQ(a[i].depth, b[i].depth) << "frame " << i;
      EXPECT_EQ(a[i].depth_conf, b[i].depth_conf) << "frame " << i;
    }
  }
};

TEST_F(SessionTest, GivesNothingThenTheScaleFramesThenOneResultAFrame) {
  Session session(model(), options());
  EXPECT_TRUE(session.push(frame(0)).empty());
  EXPECT_TRUE(session.push(frame(1)).empty());
  const auto scale = session.push(frame(2));
  ASSERT_EQ(scale.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(scale[i].index, static_cast<std::int64_t>(i));
    EXPECT_EQ(scale[i].type, FrameType::scale);
    EXPECT_EQ(scale[i].depth.size(), static_cast<std::size_t>(kWidth) * kHeight);
    EXPECT_TRUE(scale[i].world_points.empty());
  }
  const auto next = session.push(frame(3));
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].index, 3);
  EXPECT_EQ(next[0].type, FrameType::keyframe);
  EXPECT_TRUE(session.finish().empty());
}

TEST_F(SessionTest, FramesOnTheirWayComeBackInOrderAndTheSame) {
  const std::vector<FrameResult> expected = run(model(), options(2), 12);
  Session session(model(), options(2));
  EXPECT_EQ(session.in_flight(), 0);
  EXPECT_TRUE(session.collect().empty());
  std::vector<FrameResult> all;
  const auto collect = [&] {
    for (FrameResult& result : session.collect()) all.push_back(std::move(result));
  };
  for (int i = 0; i < 12; ++i) {
    session.submit(frame(i));
    EXPECT_EQ(session.in_flight(), i < 5 ? i + 1 : 5);  // five frames wait: more than the device takes
    if (i >= 4) collect();
  }
  while (session.in_flight() > 0) collect();
  expect_equal(all, expected);
  EXPECT_TRUE(session.finish().empty());
}

TEST_F(SessionTest, AQueryAndTheEndBringNothingOutOfOrder) {
  Session plain(model(), options());
  Session session(model(), options());
  for (int i = 0; i < 3; ++i) (void)plain.push(frame(i));
  for (int i = 0; i < 3; ++i) session.submit(frame(i));
  session.submit(frame(3));
  const FrameResult asked = session.query(frame(9));
  (void)plain.push(frame(3));
  expect_equal({asked}, {plain.query(frame(9))});
  EXPECT_EQ(session.in_flight(), 4);
  const std::vector<FrameResult> rest = session.finish();
  ASSERT_EQ(rest.size(), 4U);
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].index, static_cast<std::int64_t>(i));
}

TEST_F(SessionTest, SaysWhatAttends) {
  const Session session(model(), options());
  EXPECT_EQ(session.attention(), AttentionKind::sdpa);
  EXPECT_EQ(session.attention_description(), "sdpa");
}

TEST_F(SessionTest, PrefillLeavesTheCacheAsKeptFramesWould) {
  Session session(model(), options());
  expect_error(
      ErrorCode::usage, [&] { session.prefill(3); }, testing::HasSubstr("scale pass"));
  for (int i = 0; i < 3; ++i) (void)session.push(frame(i));
  expect_error(
      ErrorCode::usage, [&] { session.prefill(-1); }, testing::HasSubstr("found -1 keyframes"));
  session.prefill(0);
  session.prefill(2);
  session.prefill(9);
  EXPECT_EQ(session.cache_stats().frame_count, 14);
  EXPECT_EQ(session.cache_stats().live_pages, 4);
  const auto next = session.push(frame(3));
  ASSERT_EQ(next.size(), 1U);
  for (const float depth : next[0].depth) ASSERT_TRUE(std::isfinite(depth));
  EXPECT_EQ(session.cache_stats().frame_count, 15);
}

TEST_F(SessionTest, KeepsEveryNthStreamedFrameAndTheFirst) {
  const auto results = run(model(), options(3), 10);
  const FrameType k = FrameType::keyframe;
  const FrameType n = FrameType::non_keyframe;
  const FrameType s = FrameType::scale;
  const FrameType expected[] = {s, s, s, k, n, n, k, n, n, k};
  ASSERT_EQ(results.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(results[i].type, expected[i]) << i;
}

TEST_F(SessionTest, FewerFramesThanScaleFramesAreOneScalePass) {
  Session session(model(), options());
  EXPECT_TRUE(session.push(frame(0)).empty());
  const auto results = session.finish();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].type, FrameType::scale);
  EXPECT_TRUE(session.finish().empty());
}

TEST_F(SessionTest, NoFramesGiveNoResults) {
  Session session(model(), options());
  EXPECT_TRUE(session.finish().empty());
}

TEST_F(SessionTest, StatisticsHaveThePublicMeaning) {
  Session session(model(), options(2));
  EXPECT_EQ(session.cache_stats().frame_count, 0);
  EXPECT_EQ(session.cache_stats().free_pages, 3 + 4 + 1);
  for (int i = 0; i < 3; ++i) (void)session.push(frame(i));
  EXPECT_EQ(session.cache_stats().frame_count, 3);
  EXPECT_EQ(session.cache_stats().scale_pages, 3);
  EXPECT_EQ(session.cache_stats().special_tokens, 18);
  for (int i = 3; i < 17; ++i) (void)session.push(frame(i));  // 7 of them kept
  const CacheStats stats = session.cache_stats();
  EXPECT_EQ(stats.frame_count, 10);
  EXPECT_EQ(stats.live_pages, 4);
  EXPECT_EQ(stats.free_pages, 1);
  EXPECT_EQ(stats.special_tokens, 60);
}

TEST_F(SessionTest, WithoutTheTrajectoryMemorySpecialTokensGoWithTheirPatches) {
  for (const int interval : {1, 2}) {
    SessionOptions forgetful = options(interval);
    forgetful.trajectory_memory = false;
    const auto with = run(model(), options(interval), 16);
    const auto without = run(model(), forgetful, 16);
    ASSERT_EQ(with.size(), without.size());
    const std::size_t first_without_a_kept_frame = 3 + 4 * static_cast<std::size_t>(interval);
    for (std::size_t i = 0; i < with.size(); ++i) {
      EXPECT_EQ(with[i].pose_enc == without[i].pose_enc, i < first_without_a_kept_frame) << "frame " << i;
      EXPECT_EQ(with[i].depth == without[i].depth, i < first_without_a_kept_frame) << "frame " << i;
    }
  }
  SessionOptions forgetful = options();
  forgetful.trajectory_memory = false;
  Session session(model(), forgetful);
  for (int i = 0; i < 40; ++i) (void)session.push(frame(i));
  EXPECT_EQ(session.cache_stats().frame_count, 40);
  EXPECT_EQ(session.cache_stats().special_tokens, 6 * (3 + 4));
  const MemoryPlan plan = Session::plan(model(), forgetful, kWidth, kHeight);
  const MemoryPlan usual = Session::plan(model(), options(), kWidth, kHeight);
  EXPECT_EQ(usual.per_kept_frame - plan.per_kept_frame, std::size_t{6} * 128 * 4 * 2 * 4);
  EXPECT_EQ(plan.cache_slots - usual.cache_slots, std::size_t{8} * 6 * 128 * 4 * 2 * 4);
  EXPECT_LE(session.cache_bytes(), plan.cache_slots + 40 * plan.per_kept_frame);
}

TEST_F(SessionTest, TheSameFramesGiveTheSameBytes) {
  expect_equal(run(model(), options(2), 9), run(model(), options(2), 9));
}

TEST_F(SessionTest, ThreadsDoNotChangeTheBytes) {
  const Model one = Model::synthetic(Config::tiny(), 1, {.threads = 1});
  const Model three = Model::synthetic(Config::tiny(), 1, {.threads = 3});
  expect_equal(run(one, options(), 6), run(three, options(), 6));
}

TEST_F(SessionTest, InterleavedSessionsDoNotMeet) {
  Session a(model(), options());
  Session b(model(), options(2));
  std::vector<FrameResult> from_a;
  std::vector<FrameResult> from_b;
  for (int i = 0; i < 8; ++i) {
    for (FrameResult& result : a.push(frame(i))) from_a.push_back(std::move(result));
    for (FrameResult& result : b.push(frame(i))) from_b.push_back(std::move(result));
  }
  expect_equal(from_a, run(model(), options(), 8));
  expect_equal(from_b, run(model(), options(2), 8));
}

TEST_F(SessionTest, SessionsOfSeveralThreadsDoNotMeet) {
  std::vector<FrameResult> from_a;
  std::vector<FrameResult> from_b;
  std::thread other([&] { from_b = run(model(), options(2), 8); });
  from_a = run(model(), options(), 8);
  other.join();
  expect_equal(from_a, run(model(), options(), 8));
  expect_equal(from_b, run(model(), options(2), 8));
}

TEST_F(SessionTest, ASessionOutlivesItsModelHandle) {
  std::unique_ptr<Session> session;
  {
    const Model temporary = Model::synthetic(Config::tiny(), 1);
    session = std::make_unique<Session>(temporary, options());
  }
  for (int i = 0; i < 3; ++i) (void)session->push(frame(i));
  EXPECT_EQ(session->push(frame(3)).size(), 1U);
}

/// Non-keyframes and queries must leave no trace: later keyframes come out as if they had never been.
TEST_F(SessionTest, NonKeyframesLeaveNoTrace) {
  Session with(model(), options(3));
  Session without(model(), options(1));
  std::vector<FrameResult> kept_with;
  std::vector<FrameResult> kept_without;
  for (int i = 0; i < 24; ++i) {
    const bool kept = i < 3 || (i - 3) % 3 == 0;
    for (FrameResult& result : with.push(frame(i))) {
      if (result.type != FrameType::non_keyframe) kept_with.push_back(std::move(result));
    }
    if (!kept) continue;
    for (FrameResult& result : without.push(frame(i))) kept_without.push_back(std::move(result));
    const CacheStats a = with.cache_stats();
    const CacheStats b = without.cache_stats();
    EXPECT_EQ(a.frame_count, b.frame_count);
    EXPECT_EQ(a.live_pages, b.live_pages);
    EXPECT_EQ(a.free_pages, b.free_pages);
    EXPECT_EQ(a.special_tokens, b.special_tokens);
  }
  ASSERT_EQ(kept_with.size(), kept_without.size());
  for (std::size_t i = 0; i < kept_with.size(); ++i) {
    EXPECT_EQ(kept_with[i].pose_enc, kept_without[i].pose_enc) << i;
    EXPECT_EQ(kept_with[i].depth, kept_without[i].depth) << i;
  }
}

TEST_F(SessionTest, QueriesLeaveNoTraceAndSeeWhatANonKeyframeSees) {
  Session plain(model(), options(2));
  Session queried(model(), options(2));
  for (int i = 0; i < 12; ++i) {
    const auto a = plain.push(frame(i));
    const auto b = queried.push(frame(i));
    expect_equal(a, b);
    if (i < 2) continue;
    const CacheStats before = queried.cache_stats();
    const FrameResult first = queried.query(frame(100 + i));
    const FrameResult second = queried.query(frame(100 + i));
    EXPECT_EQ(first.pose_enc, second.pose_enc);
    EXPECT_EQ(first.depth, second.depth);
    EXPECT_EQ(first.index, i + 1);
    EXPECT_EQ(queried.cache_stats().special_tokens, before.special_tokens);
    EXPECT_EQ(queried.cache_stats().frame_count, before.frame_count);
  }
  // With interval 2 and three scale frames, frame 12 is a non-keyframe: a query of it is the same computation.
  const FrameResult query = queried.query(frame(12));
  const auto pushed = queried.push(frame(12));
  ASSERT_EQ(pushed.front().type, FrameType::non_keyframe);
  EXPECT_EQ(query.pose_enc, pushed.front().pose_enc);
  EXPECT_EQ(query.depth, pushed.front().depth);
}

TEST_F(SessionTest, QueriesDoNotMoveTheCameraHeadsFrameCounter) {
  Config config = Config::tiny();
  config.camera_rope = true;  // the counter is the rotary index, so it shows in the pose
  const Model rotary = Model::synthetic(config, 1);
  Session plain(rotary, options());
  Session queried(rotary, options());
  for (int i = 0; i < 6; ++i) {
    expect_equal(plain.push(frame(i)), queried.push(frame(i)));
    if (i >= 2) (void)queried.query(frame(50));
  }
}

TEST_F(SessionTest, StreamsPastTheRotaryTableOfThePublicSystem) {
  Session session(model(), {.scale_frames = 1, .window = 1, .camera_iterations = 1});
  for (int i = 0; i < 1030; ++i) {
    const auto results = session.push(frame(i % 7, 28, 28));
    ASSERT_EQ(results.size(), 1U);
    for (const float value : results[0].pose_enc) ASSERT_TRUE(std::isfinite(value)) << "frame " << i;
  }
  EXPECT_EQ(session.cache_stats().frame_count, 1030);
  EXPECT_EQ(session.cache_stats().special_tokens, 6 * 1030);
}

TEST_F(SessionTest, ThePlanIsWhatASessionTakes) {
  const MemoryPlan plan = Session::plan(model(), options(), kWidth, kHeight);
  EXPECT_EQ(plan.weights, model().weight_bytes());
  EXPECT_EQ(plan.cache_slots, std::size_t{8} * 24 * 128 * 4 * 2 * 4);  // slots, patches, C, float32, K and V, layers
  EXPECT_EQ(plan.per_kept_frame, std::size_t{6} * 128 * 4 * 2 * 4 + std::size_t{2} * 2 * 256 * 4 * 2);
  EXPECT_GT(plan.activations, std::size_t{kWidth} * kHeight * 16);
  Session session(model(), options());
  for (int i = 0; i < 40; ++i) (void)session.push(frame(i));
  const auto most = plan.cache_slots + 40 * plan.per_kept_frame;
  EXPECT_LE(session.cache_bytes(), most);
  EXPECT_GE(session.cache_bytes(), most * 7 / 10);  // all but the spare slot
}

TEST_F(SessionTest, RefusesWhatMakesNoSense) {
  using test::expect_error;
  using testing::AllOf;
  using testing::HasSubstr;
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), {.scale_frames = 0}); },
      AllOf(HasSubstr("scale_frames"), HasSubstr("0")));
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), {.window = -1}); }, AllOf(HasSubstr("window"), HasSubstr("-1")));
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), {.keyframe_interval = 0}); }, HasSubstr("keyframe_interval"));
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), {.camera_iterations = 0}); }, HasSubstr("camera_iterations"));
  expect_error(
      ErrorCode::unsupported, [] { (void)Session(model(), {.attention = AttentionKind::flashinfer}); },
      HasSubstr("flashinfer"));
  Session session(model(), options());
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(Image(85, 56)); }, AllOf(HasSubstr("85x56"), HasSubstr("14")));
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(Image()); }, HasSubstr("0x0"));
  expect_error(
      ErrorCode::usage, [&] { (void)session.query(frame(0)); }, HasSubstr("scale"));
  (void)session.push(frame(0));
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(frame(0, 56, 56)); }, AllOf(HasSubstr("56x56"), HasSubstr("84x56")));
  Image cut = frame(1);
  cut.pixels.pop_back();
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(cut); }, HasSubstr("bytes"));
  (void)session.push(frame(1));
  EXPECT_EQ(session.push(frame(2)).size(), 3U) << "refused frames leave the session as it was";
  (void)session.finish();
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(frame(3)); }, HasSubstr("finish"));
}

}  // namespace
}  // namespace lingbot_map
