#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "expect_error.hpp"
#include "frames.hpp"
#include "golden.hpp"
#include "usable_gpu.hpp"
#include "visible_set_oracle.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::relative_error;
using test::smooth_frames;
using test::VisibleSetOracle;

constexpr std::uint64_t kSeed = 17;  // its fields of view are not zero
constexpr int kWidth = 56;
constexpr int kHeight = 28;
constexpr double kNever = 1e12;  // pixels: more than any flow

std::vector<FrameResult> run(Session& session, const std::vector<Image>& images) {
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

std::vector<FrameResult> run(const Model& model, const SessionOptions& options, const std::vector<Image>& images) {
  Session session(model, options);
  return run(session, images);
}

void expect_equal(const std::vector<FrameResult>& a, const std::vector<FrameResult>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].type, b[i].type) << "frame " << i;
    EXPECT_EQ(a[i].pose_enc, b[i].pose_enc) << "frame " << i;
    EXPECT_EQ(a[i].depth, b[i].depth) << "frame " << i;
    EXPECT_EQ(a[i].depth_conf, b[i].depth_conf) << "frame " << i;
  }
}

std::vector<float> pose(const FrameResult& result) { return {result.pose_enc.begin(), result.pose_enc.end()}; }

class FlowKeyframesTest : public testing::Test {
 protected:
  static const Model& model() {
    static const Model tiny = Model::synthetic(Config::tiny(), kSeed);
    return tiny;
  }
  static SessionOptions options(double threshold, int gap, int window = 3) {
    return {.scale_frames = 2,
            .window = window,
            .flow_threshold = threshold,
            .max_non_keyframe_gap = gap,
            .camera_iterations = 2};
  }

  /// Holds a session against the oracle, frame by frame.
  static void hold_against_oracle(const Config& config, SessionOptions options, Device device, double bound) {
    const std::vector<Image> images = smooth_frames(26, kWidth, kHeight);
    // The middle of the flows that are there gives a sequence of both kinds.
    options.flow_threshold = kNever;
    VisibleSetOracle probe(config, kSeed, options, kWidth, kHeight, 26);
    (void)probe.run(images);
    std::nth_element(probe.flows.begin(), probe.flows.begin() + 12, probe.flows.end());
    options.flow_threshold = probe.flows[12];

    VisibleSetOracle oracle(config, kSeed, options, kWidth, kHeight, 26);
    const std::vector<FrameResult> expected = oracle.run(images);
    const Model of = Model::synthetic(config, kSeed, {.device = device, .dtype = DType::f32});
    const std::vector<FrameResult> found = run(of, options, images);
    ASSERT_EQ(found.size(), expected.size());
    int kept = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].index, static_cast<std::int64_t>(i));
      EXPECT_EQ(found[i].type, expected[i].type) << "frame " << i;
      EXPECT_LE(relative_error(pose(found[i]), pose(expected[i])), bound) << "frame " << i;
      EXPECT_LE(relative_error(found[i].depth, expected[i].depth), bound) << "frame " << i;
      EXPECT_LE(relative_error(found[i].depth_conf, expected[i].depth_conf), bound) << "frame " << i;
      if (found[i].type == FrameType::keyframe) ++kept;
    }
    EXPECT_GT(kept, options.window + 2) << "the window must have moved on";
    EXPECT_LT(kept, 22) << "frames must have been rolled back";
  }
};

TEST_F(FlowKeyframesTest, EveryFrameSeesWhatTheRuleSays) {
  hold_against_oracle(Config::tiny(), options(0, 5), Device::cpu(), 1e-5);
}

TEST_F(FlowKeyframesTest, FrameNumbersOfTheCameraHeadCountEveryFrame) {
  Config config = Config::tiny();
  config.camera_rope = true;  // then they show in the pose
  hold_against_oracle(config, options(0, 5), Device::cpu(), 1e-5);
}

TEST_F(FlowKeyframesTest, EveryFrameSeesWhatTheRuleSaysOnTheGpu) {
  if (!test::usable_gpu()) GTEST_SKIP() << "no usable GPU here";
  for (const AttentionKind attention : {AttentionKind::sdpa, AttentionKind::flashinfer}) {
    SessionOptions with = options(0, 5);
    with.attention = attention;
    hold_against_oracle(Config::tiny(), with, Device::cuda(), 1e-4);
  }
}

/// Where the window does not bind, it does not matter when it is known that a frame is kept.
TEST_F(FlowKeyframesTest, AGapAloneIsAnInterval) {
  const std::vector<Image> images = smooth_frames(20, kWidth, kHeight);
  for (const int gap : {1, 3, 4}) {
    SessionOptions interval = options(0, 100, 20);
    interval.keyframe_interval = gap;
    expect_equal(run(model(), options(kNever, gap, 20), images), run(model(), interval, images));
  }
}

TEST_F(FlowKeyframesTest, AnyMotionKeepsEveryFrame) {
  const std::vector<Image> images = smooth_frames(20, kWidth, kHeight);
  expect_equal(run(model(), options(1e-12, 100, 20), images), run(model(), options(0, 100, 20), images));
}

/// What was rolled back left nothing behind: the frames that were kept come out to the bit as if the others had never
/// been. A kept frame sees `window` frames beside itself, which is a keyframe's view in a window of one more.
TEST_F(FlowKeyframesTest, RolledBackFramesLeaveNoTrace) {
  const std::vector<Image> images = smooth_frames(30, kWidth, kHeight);
  for (const int gap : {2, 3}) {
    std::vector<FrameResult> kept;
    for (FrameResult& result : run(model(), options(kNever, gap), images))
      if (result.type != FrameType::non_keyframe) kept.push_back(std::move(result));
    std::vector<Image> kept_images;
    for (const FrameResult& result : kept) kept_images.push_back(images[static_cast<std::size_t>(result.index)]);
    ASSERT_GT(kept.size(), 10U);
    expect_equal(kept, run(model(), options(0, 100, 4), kept_images));
  }
}

TEST_F(FlowKeyframesTest, StatisticsDoNotCountRolledBackFrames) {
  Session session(model(), options(kNever, 4));
  std::int64_t kept = 0;
  for (const Image& image : smooth_frames(23, kWidth, kHeight)) {
    for (const FrameResult& result : session.push(image)) kept += result.type == FrameType::non_keyframe ? 0 : 1;
    const CacheStats stats = session.cache_stats();
    EXPECT_EQ(stats.frame_count, kept);
    EXPECT_EQ(stats.special_tokens, 6 * kept);
    EXPECT_EQ(stats.live_pages, std::min<std::int64_t>(std::max<std::int64_t>(kept - 2, 0), 3));
  }
}

TEST_F(FlowKeyframesTest, QueriesLeaveNoTraceEither) {
  Session plain(model(), options(kNever, 3));
  Session queried(model(), options(kNever, 3));
  const std::vector<Image> images = smooth_frames(20, kWidth, kHeight);
  for (std::size_t i = 0; i < images.size(); ++i) {
    expect_equal(plain.push(images[i]), queried.push(images[i]));
    if (i < 2) continue;
    const FrameResult asked = queried.query(images[0]);
    EXPECT_EQ(asked.pose_enc, queried.query(images[0]).pose_enc);
    EXPECT_EQ(asked.index, static_cast<std::int64_t>(i) + 1);
  }
  queried.submit(images[3]);  // not judged yet
  plain.submit(images[3]);
  expect_equal({queried.query(images[0])}, {plain.query(images[0])});
}

TEST_F(FlowKeyframesTest, AFrameWaitsForTheOneBefore) {
  Session session(model(), options(kNever, 3));
  const std::vector<Image> images = smooth_frames(8, kWidth, kHeight);
  for (int i = 0; i < 3; ++i) (void)session.push(images[static_cast<std::size_t>(i)]);
  session.submit(images[3]);
  EXPECT_EQ(session.in_flight(), 1);
  session.submit(images[4]);
  EXPECT_EQ(session.in_flight(), 2) << "one is judged, and not yet collected";
  EXPECT_EQ(session.collect().front().index, 3);
  EXPECT_EQ(session.collect().front().index, 4);
}

TEST_F(FlowKeyframesTest, AResetSessionIsANewOne) {
  const std::vector<Image> images = smooth_frames(16, kWidth, kHeight);
  for (SessionOptions with : {options(kNever, 3), options(0, 100)}) {
    if (with.flow_threshold == 0) with.keyframe_interval = 2;
    const std::vector<FrameResult> expected = run(model(), with, images);
    Session session(model(), with);
    EXPECT_NO_THROW(session.reset());
    for (const std::size_t before : {1U, 2U, 3U, 9U, 16U}) {
      for (std::size_t i = 0; i < before; ++i) session.submit(images[i]);
      session.reset();
      EXPECT_EQ(session.in_flight(), 0);
      EXPECT_EQ(session.cache_stats().frame_count, 0);
      expect_equal(run(session, images), expected);
      session.reset();
    }
    expect_error(
        ErrorCode::usage, [&] { session.submit(test::smooth_frame(0, 28, 28)); }, testing::HasSubstr("28x28"));
  }
}

TEST_F(FlowKeyframesTest, RefuseWhatMakesNoSense) {
  using testing::HasSubstr;
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), options(-1, 3)); }, HasSubstr("flow_threshold is -1"));
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), options(std::numeric_limits<double>::quiet_NaN(), 3)); },
      HasSubstr("flow_threshold is nan"));
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), options(std::numeric_limits<double>::infinity(), 3)); },
      HasSubstr("flow_threshold is inf"));
  expect_error(
      ErrorCode::usage, [] { (void)Session(model(), options(3, 0)); }, HasSubstr("max_non_keyframe_gap is 0"));
  SessionOptions both = options(3, 3);
  both.keyframe_interval = 2;
  expect_error(
      ErrorCode::usage, [&] { (void)Session(model(), both); }, HasSubstr("keyframe_interval is 2"));
  Session session(model(), options(3, 3));
  for (const Image& image : smooth_frames(2, kWidth, kHeight)) (void)session.push(image);
  expect_error(
      ErrorCode::usage, [&] { session.prefill(3); }, HasSubstr("prefill"));
}

}  // namespace
}  // namespace lingbot_map
