#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "expect_error.hpp"
#include "frames.hpp"
#include "lingbot_map/lingbot_map.hpp"
#include "lingbot_map/windowed_session.hpp"
#include "session/rewritten_state.hpp"
#include "temporary_folder.hpp"
#include "usable_gpu.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::expect_error;
using test::smooth_frames;
using test::write_content;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kSide = 28;
constexpr WindowedOptions kOptions{
    .session = {.scale_frames = 3, .window = 3, .camera_iterations = 1}, .window_size = 6, .overlap_size = 1};

void append(std::vector<FrameResult>& all, std::vector<FrameResult> some) {
  for (FrameResult& result : some) all.push_back(std::move(result));
}

void expect_equal(const std::vector<FrameResult>& a, const std::vector<FrameResult>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].index, b[i].index);
    EXPECT_EQ(a[i].type, b[i].type) << "frame " << b[i].index;
    EXPECT_EQ(a[i].pose_enc, b[i].pose_enc) << "frame " << b[i].index;
    EXPECT_EQ(a[i].depth, b[i].depth) << "frame " << b[i].index;
    EXPECT_EQ(a[i].depth_conf, b[i].depth_conf) << "frame " << b[i].index;
    EXPECT_EQ(a[i].world_points, b[i].world_points) << "frame " << b[i].index;
    EXPECT_EQ(a[i].world_points_conf, b[i].world_points_conf) << "frame " << b[i].index;
  }
}

void expect_equal(const std::vector<WindowRecord>& a, const std::vector<WindowRecord>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(a[i].first_frame, b[i].first_frame);
    EXPECT_EQ(a[i].frames, b[i].frames);
    EXPECT_EQ(a[i].overlap, b[i].overlap);
    EXPECT_EQ(a[i].first_given, b[i].first_given);
    EXPECT_EQ(a[i].scale, b[i].scale);
    EXPECT_EQ(a[i].transform, b[i].transform);
    EXPECT_EQ(a[i].aligned, b[i].aligned);
    EXPECT_EQ(a[i].depth_residual, b[i].depth_residual);
    EXPECT_EQ(a[i].position_residual, b[i].position_residual);
    EXPECT_EQ(a[i].rotation_residual, b[i].rotation_residual);
    EXPECT_EQ(a[i].scale_jumped, b[i].scale_jumped);
    EXPECT_EQ(a[i].residual_jumped, b[i].residual_jumped);
  }
}

class SavedWindowedSession : public testing::Test {
 protected:
  static Model model(bool points = false, Device device = Device::cpu()) {
    Config config = Config::tiny();
    config.has_point_head = points;
    return Model::synthetic(config, 17, {.device = device});
  }

  /// Takes what a push gave, and cuts if it has one of these frames for the first time.
  static void take(WindowedSession& session, std::vector<FrameResult>& all, std::vector<FrameResult> results,
                   std::vector<std::int64_t>& cuts) {
    for (FrameResult& result : results) {
      if (!cuts.empty() && result.index == cuts.front()) {
        session.cut(result.index);
        cuts.erase(cuts.begin());
        while (session.in_flight() > 0) append(all, session.collect());
        return;
      }
      all.push_back(std::move(result));
    }
  }

  /// A new session for every frame, each with what the one before left in the file.
  void expect_the_same_from_anywhere(const Model& model, const WindowedOptions& options, int frames,
                                     const std::vector<std::int64_t>& cuts = {}) const {
    const std::vector<Image> images = smooth_frames(frames, kSide, kSide);
    WindowedSession undisturbed(model, options);
    std::vector<FrameResult> expected;
    std::vector<std::int64_t> cuts_to_come = cuts;
    for (const Image& image : images) take(undisturbed, expected, undisturbed.push(image), cuts_to_come);
    append(expected, undisturbed.finish());
    cuts_to_come = cuts;
    ASSERT_GE(undisturbed.windows().size(), 3U);

    WindowedSession(model, options).save(path_);
    std::vector<FrameResult> all;
    for (std::size_t i = 0; i < images.size(); ++i) {
      WindowedSession session = WindowedSession::restore(model, options, path_);
      EXPECT_EQ(session.frames_pushed(), static_cast<std::int64_t>(i));
      EXPECT_EQ(session.frames_final(), std::ssize(all));
      take(session, all, session.push(images[i]), cuts_to_come);
      session.save(path_);
    }
    WindowedSession last = WindowedSession::restore(model, options, path_);
    append(all, last.finish());
    expect_equal(all, expected);
    expect_equal(last.windows(), undisturbed.windows());
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "session.npz";
};

TEST_F(SavedWindowedSession, GoesOnFromAnyFrameToTheSameBits) {
  const Model tiny = model();
  expect_the_same_from_anywhere(tiny, kOptions, 18);  // a window waits for its scale frames before it has a place
  WindowedOptions options = kOptions;
  options.overlap_size = 4;
  options.alignment = WindowAlignment::robust;
  expect_the_same_from_anywhere(tiny, options, 16);
  options.overlap_size = 0;
  expect_the_same_from_anywhere(tiny, options, 16);
  options = kOptions;
  options.overlap_keyframes = 4;
  options.session.keyframe_interval = 2;
  expect_the_same_from_anywhere(model(true), options, 20);
}

TEST_F(SavedWindowedSession, GoesOnWithFramesThatAreKeptByFlow) {
  WindowedOptions options = kOptions;
  options.session.flow_threshold = 1e-3;
  options.session.max_non_keyframe_gap = 2;
  expect_the_same_from_anywhere(model(), options, 18);
  options.session.flow_threshold = 1e6;
  expect_the_same_from_anywhere(model(), options, 22);
}

TEST_F(SavedWindowedSession, GoesOnAcrossCuts) {
  WindowedOptions options = kOptions;
  options.cuts = true;
  options.overlap_size = 3;
  expect_the_same_from_anywhere(model(), options, 15, {7, 11});
  options.endless = true;
  expect_the_same_from_anywhere(model(true), options, 16, {5, 12});
  options.overlap_size = 2;  // a window waits for its scale frames behind the cut
  options.session.flow_threshold = 60;
  expect_the_same_from_anywhere(model(), options, 16, {6, 10});
}

TEST_F(SavedWindowedSession, GoesOnOnAGpu) {
  if (!test::usable_gpu()) GTEST_SKIP() << "no usable GPU here";
  expect_the_same_from_anywhere(model(false, Device::cuda()), kOptions, 19);
}

TEST_F(SavedWindowedSession, OtherOptionsAreRefused) {
  const Model tiny = model();
  WindowedSession(tiny, kOptions).save(path_);
  const auto expect_refused = [&](const auto& change, const char* line) {
    WindowedOptions options = kOptions;
    change(options);
    expect_error(
        ErrorCode::input, [&] { (void)WindowedSession::restore(tiny, options, path_); },
        AllOf(HasSubstr(path_.string()), HasSubstr(line)));
  };
  expect_refused([](WindowedOptions& o) { o.window_size = 7; }, "window_size 6, expected 7");
  expect_refused([](WindowedOptions& o) { o.overlap_size = 2; }, "overlap_size 1, expected 2");
  expect_refused([](WindowedOptions& o) { o.overlap_keyframes = 4; }, "overlap_keyframes 0, expected 4");
  expect_refused([](WindowedOptions& o) { o.alignment = WindowAlignment::robust; }, "alignment exact, expected robust");
  expect_refused([](WindowedOptions& o) { o.cuts = true; }, "cuts no, expected yes");
  expect_refused([](WindowedOptions& o) { o.cuts = o.endless = true; }, "endless no, expected yes");
  expect_refused([](WindowedOptions& o) { o.session.camera_iterations = 2; }, "camera_iterations 1, expected 2");
  expect_error(
      ErrorCode::input, [&] { (void)Session::restore(tiny, kOptions.session, path_); },
      HasSubstr("a saved session with windows"));
}

TEST_F(SavedWindowedSession, IsNotSavedInTheMiddleOfAFrameOrAtTheEnd) {
  const Model tiny = model();
  WindowedSession session(tiny, kOptions);
  const std::vector<Image> images = smooth_frames(4, kSide, kSide);
  for (const Image& image : images) session.submit(image);
  const auto expect_refused = [&](const char* line) {
    expect_error(
        ErrorCode::usage, [&] { session.save(path_); }, HasSubstr(line));
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_TRUE(std::filesystem::is_empty(path_.parent_path()));
  };
  expect_refused("frames on their way");
  (void)session.finish();
  expect_refused("finish()");
}

/// Numbers of a state that was saved in the middle of a window, or while a window waits for its place.
TEST_F(SavedWindowedSession, NumbersThatCannotBeAreRefused) {
  const Model tiny = model();
  const auto save_after = [&](int frames) {
    WindowedSession session(tiny, kOptions);
    for (const Image& image : smooth_frames(frames, kSide, kSide)) (void)session.push(image);
    session.save(path_);
    return content_of(path_);
  };
  const auto expect_refused = [&](const std::string& content, const std::string& from, const std::string& to,
                                  const char* line) {
    SCOPED_TRACE(to);
    write_content(path_, content);
    test::rewrite_state(path_, from, to);
    expect_error(
        ErrorCode::input, [&] { (void)WindowedSession::restore(tiny, kOptions, path_); },
        AllOf(HasSubstr(path_.string()), HasSubstr(line)));
  };
  const std::string placed = save_after(6);
  expect_refused(placed, "\"windows.count\": 1", "\"windows.count\": 0", "windows.count is 0");
  expect_refused(placed, "\"windows.count\": 1", "\"windows.count\": 2", "array windows");
  expect_refused(placed, "\"windows.count\": 1", "\"windows.count\": 1000000000000", "array windows");
  expect_refused(placed, "\"windows.first_frame\": 0", "\"windows.first_frame\": 4", "contradict");
  expect_refused(placed, "\"windows.keyframes\": 3", "\"windows.keyframes\": 7", "windows.keyframes is 7");
  expect_refused(placed, "\"held.types\": \"1\"", "\"held.types\": \"11\"", "array held.1.pose_enc");
  expect_refused(placed, "\"held.types\": \"1\"", "\"held.types\": \"x\"", "none of 0, 1, 2");
  expect_refused(placed, "\"later.types\": \"\"", "\"later.types\": \"0\"", "array later.0.pose_enc");
  expect_refused(placed, "\"windows.given\": 5", "\"windows.given\": 4", "contradict");
  expect_refused(placed, "\"windows.given\": 5", "\"windows.given\": 6", "contradict");
  expect_refused(placed, "\"windows.given\": 5", "\"windows.given\": 7", "windows.given is 7");
  const std::string waiting = save_after(7);
  expect_refused(waiting, "\"earlier.types\": \"1\"", "\"earlier.types\": \"\"", "contradict");
  expect_refused(waiting, "\"windows.given\": 5", "\"windows.given\": 2", "contradict");
  write_content(path_, waiting.substr(0, waiting.size() / 2));
  expect_error(
      ErrorCode::input, [&] { (void)WindowedSession::restore(tiny, kOptions, path_); }, HasSubstr("end record"));
}

}  // namespace
}  // namespace lingbot_map
