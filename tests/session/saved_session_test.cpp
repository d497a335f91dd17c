#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "geometry/induced_flow.hpp"
#include "golden.hpp"
#include "lingbot_map/lingbot_map.hpp"
#include "session/rewritten_state.hpp"
#include "temporary_folder.hpp"
#include "usable_gpu.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::expect_error;
using test::write_content;
using testing::AllOf;
using testing::HasSubstr;

constexpr SessionOptions kOptions{.scale_frames = 3, .window = 4, .keyframe_interval = 3, .camera_iterations = 2};

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
  }
}

std::vector<Image> golden_images(std::size_t count) {
  test::Golden golden(LINGBOT_MAP_TEST_DATA "/tiny.safetensors");
  std::vector<Image> images = golden.images("images");
  images.resize(std::min(images.size(), count));
  return images;
}

/// Where the network runs, and how.
struct Place {
  const char* name;
  Device device;
  DType dtype;
  AttentionKind attention;
};
void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

class SavedSession : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (GetParam().device.kind == Device::Kind::cuda && !test::usable_gpu()) GTEST_SKIP() << "no usable GPU here";
  }
  static Model model(bool points = false, bool camera_rope = false) {
    Config config = Config::tiny();
    config.has_point_head = points;
    config.camera_rope = camera_rope;
    return Model::synthetic(config, 1, {.device = GetParam().device, .dtype = GetParam().dtype});
  }
  static SessionOptions options(int interval) {
    SessionOptions options = kOptions;
    options.keyframe_interval = interval;
    options.attention = GetParam().attention;
    return options;
  }
  static std::vector<FrameResult> uninterrupted(const Model& model, const SessionOptions& options,
                                                const std::vector<Image>& images) {
    Session session(model, options);
    std::vector<FrameResult> all;
    for (const Image& image : images) append(all, session.push(image));
    append(all, session.finish());
    return all;
  }

  /// A threshold that about half of the frames pass: the median flow of each frame to the one before.
  static double middle_flow(const Model& model, const SessionOptions& options, const std::vector<Image>& images) {
    const std::vector<FrameResult> all = uninterrupted(model, options, images);
    std::vector<double> flows;
    for (std::size_t i = 4; i < all.size(); ++i)
      flows.push_back(
          mean_induced_flow(all[i].depth, all[i].width, all[i].height, all[i].pose_enc, all[i - 1].pose_enc));
    std::ranges::sort(flows);
    return flows[flows.size() / 2];
  }

  /// A new session for every frame, each with what the one before left in the file.
  std::vector<FrameResult> by_restored_ones(const Model& model, const SessionOptions& options,
                                            const std::vector<Image>& images) const {
    Session(model, options).save(path_);
    std::vector<FrameResult> all;
    for (const Image& image : images) {
      Session session = Session::restore(model, options, path_);
      append(all, session.push(image));
      session.save(path_);
    }
    append(all, Session::restore(model, options, path_).finish());
    return all;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "session.npz";
};

/// Gathering scale frames, window filling, window full, frames that are not kept: wherever it was saved, all that
/// follows is equal.
TEST_P(SavedSession, GoesOnFromAnyFrameToTheSameBits) {
  const Model tiny = model();
  const std::vector<Image> images = golden_images(20);
  ASSERT_EQ(images.size(), 20U);
  const std::vector<FrameResult> expected = uninterrupted(tiny, options(3), images);
  Session first(tiny, options(3));
  std::vector<FrameResult> before;
  for (std::size_t saved_at = 0; saved_at <= images.size(); ++saved_at) {
    first.save(path_);
    Session second = Session::restore(tiny, options(3), path_);
    EXPECT_EQ(second.frames_pushed(), static_cast<std::int64_t>(saved_at));
    EXPECT_EQ(second.cache_bytes(), first.cache_bytes());
    std::vector<FrameResult> all = before;
    for (std::size_t i = saved_at; i < images.size(); ++i) append(all, second.push(images[i]));
    append(all, second.finish());
    expect_equal(all, expected);
    if (saved_at < images.size()) append(before, first.push(images[saved_at]));
  }
}

/// Frames that are judged after attention, and special tokens that go with their frame's patches.
TEST_P(SavedSession, HasEverySchemeOfTheCache) {
  const Model tiny = model();
  const std::vector<Image> images = golden_images(20);
  SessionOptions by_flow = options(1);
  by_flow.flow_threshold = middle_flow(tiny, options(1), images);
  by_flow.max_non_keyframe_gap = 3;
  SessionOptions forgetful = options(3);
  forgetful.trajectory_memory = false;
  SessionOptions forgetful_by_flow = by_flow;
  forgetful_by_flow.trajectory_memory = false;
  for (const SessionOptions& with : {by_flow, forgetful, forgetful_by_flow}) {
    SCOPED_TRACE(testing::Message() << "flow " << with.flow_threshold << ", memory " << with.trajectory_memory);
    const std::vector<FrameResult> expected = uninterrupted(tiny, with, images);
    if (with.flow_threshold > 0) {
      EXPECT_GT(std::ranges::count(expected, FrameType::keyframe, &FrameResult::type), with.window + 2);
      EXPECT_GE(std::ranges::count(expected, FrameType::non_keyframe, &FrameResult::type), 3);
    }
    expect_equal(by_restored_ones(tiny, with, images), expected);
  }
}

/// A sequence after reset() begins as it does in a session that was never used.
TEST_P(SavedSession, IsSavedAfterAReset) {
  const Model tiny = model();
  const std::vector<Image> images = golden_images(9);
  const std::vector<FrameResult> expected = uninterrupted(tiny, options(2), images);
  Session first(tiny, options(2));
  for (const Image& image : images) (void)first.push(image);
  first.reset();
  std::vector<FrameResult> before;
  for (const std::size_t saved_at : {0U, 2U, 5U}) {
    while (static_cast<std::size_t>(first.frames_pushed()) < saved_at)
      append(before, first.push(images[static_cast<std::size_t>(first.frames_pushed())]));
    first.save(path_);
    Session second = Session::restore(tiny, options(2), path_);
    std::vector<FrameResult> all = before;
    for (std::size_t i = saved_at; i < images.size(); ++i) append(all, second.push(images[i]));
    expect_equal(all, expected);
  }
}

TEST_P(SavedSession, IsSavedByARestoredOne) {
  const std::vector<Image> images = golden_images(14);
  for (const bool other : {false, true}) {
    const Model tiny = model(other, other);
    for (const int interval : {1, 3})
      expect_equal(by_restored_ones(tiny, options(interval), images), uninterrupted(tiny, options(interval), images));
  }
}

/// Recorded operations, queries, and frames on their way after it was restored.
TEST_P(SavedSession, TakesFramesOnTheirWayAndQueries) {
  const Model tiny = model();
  const std::vector<Image> images = golden_images(20);
  const std::vector<FrameResult> expected = uninterrupted(tiny, options(1), images);
  Session first(tiny, options(1));
  std::vector<FrameResult> all;
  for (std::size_t i = 0; i < 10; ++i) append(all, first.push(images[i]));
  const FrameResult asked = first.query(images[15]);
  first.save(path_);
  Session second = Session::restore(tiny, options(1), path_);
  expect_equal({second.query(images[15])}, {asked});
  for (std::size_t i = 10; i < 20; ++i) {
    second.submit(images[i]);
    if (second.in_flight() == 2) append(all, second.collect());
  }
  append(all, second.finish());
  expect_equal(all, expected);
}

TEST_P(SavedSession, GivesTheSameFileAgain) {
  const Model tiny = model();
  const std::vector<Image> images = golden_images(9);
  Session session(tiny, options(2));
  for (const Image& image : images) (void)session.push(image);
  session.save(path_);
  Session::restore(tiny, options(2), path_).save(folder_ / "again.npz");
  EXPECT_TRUE(content_of(path_) == content_of(folder_ / "again.npz"));
}

constexpr Place kPlaces[] = {
    {"Cpu", Device::cpu(), DType::f32, AttentionKind::sdpa},
    {"CpuBfloat16", Device::cpu(), DType::bf16, AttentionKind::sdpa},
    {"Gpu", Device::cuda(), DType::bf16, AttentionKind::sdpa},
    {"GpuFloat32", Device::cuda(), DType::f32, AttentionKind::sdpa},
    {"GpuFloat16", Device::cuda(), DType::f16, AttentionKind::sdpa},
    {"GpuPages", Device::cuda(), DType::bf16, AttentionKind::flashinfer},
};
INSTANTIATE_TEST_SUITE_P(On, SavedSession, testing::ValuesIn(kPlaces),
                         [](const auto& info) { return std::string(info.param.name); });

/// A state saved on one device goes on on another, up to rounding.
TEST(SavedSessionElsewhere, GoesOnUpToRounding) {
  if (!test::usable_gpu()) GTEST_SKIP() << "no usable GPU here";
  const test::TemporaryFolder folder;
  const std::vector<Image> images = golden_images(12);
  const Model models[] = {Model::synthetic(Config::tiny(), 1, {.dtype = DType::f32}),
                          Model::synthetic(Config::tiny(), 1, {.device = Device::cuda(), .dtype = DType::f32})};
  EXPECT_EQ(models[0].fingerprint(), models[1].fingerprint());
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
    Session first(models[from], kOptions);
    for (std::size_t i = 0; i < 11; ++i) (void)first.push(images[i]);
    first.save(folder / "s");
    const auto here = first.push(images[11]);
    const auto there = Session::restore(models[to], kOptions, folder / "s").push(images[11]);
    EXPECT_LT(test::relative_error(there[0].depth, here[0].depth), 1e-4);
  }
}

/// What a tiny session left in a file, and what becomes of it when the file is spoilt.
class DamagedSession : public testing::Test {
 protected:
  static const Model& model() {
    static const Model tiny = Model::synthetic(Config::tiny(), 1);
    return tiny;
  }
  DamagedSession() {
    Session session(model(), kOptions);
    for (int i = 0; i < 5; ++i) (void)session.push(frame(i));
    session.save(path_);
    content_ = content_of(path_);
  }
  static Image frame(int number) {
    Image image(28, 28);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(number) * 31);
    return image;
  }
  template <typename Matcher>
  void expect_refused(const Matcher& matcher, const Model& with = model(), const SessionOptions& options = kOptions) {
    expect_error(
        ErrorCode::input, [&] { (void)Session::restore(with, options, path_); },
        AllOf(HasSubstr(path_.string()), matcher));
  }
  /// Writes the archive anew with valid check sums after `change` was made to its numbers and texts.
  void rewrite_fields(const std::string& from, const std::string& to) {
    write_content(path_, content_);
    test::rewrite_state(path_, from, to);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "session.npz";
  std::string content_;
};

TEST_F(DamagedSession, MissingAndForeignFilesAreRefused) {
  std::filesystem::remove(path_);
  expect_refused(HasSubstr("cannot be opened"));
  std::filesystem::create_directory(path_);
  expect_refused(HasSubstr("is a directory"));
  std::filesystem::remove(path_);
  for (const char* text : {"", "PK", "a text that is no archive of anything"}) {
    write_content(path_, text);
    expect_refused(HasSubstr("without an end record"));
  }
  {
    ZipWriter archive(path_);
    archive.add("a", "b");
    archive.finish();
  }
  expect_refused(AllOf(HasSubstr("no saved session"), HasSubstr("state.json")));
}

TEST_F(DamagedSession, ACutOffFileIsRefused) {
  for (std::size_t bytes = 0; bytes < content_.size(); bytes += 1 + content_.size() / 40) {
    write_content(path_, content_.substr(0, bytes));
    expect_refused(testing::_);
  }
  write_content(path_, content_.substr(0, content_.size() - 1));
  expect_refused(testing::_);
}

TEST_F(DamagedSession, FlippedBitsAreRefusedOrChangeNothing) {
  const FrameResult expected = Session::restore(model(), kOptions, path_).query(frame(9));
  int refused = 0;
  int tried = 0;
  const auto flip = [&](std::size_t at) {
    std::string flipped = content_;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write_content(path_, flipped);
    ++tried;
    try {
      EXPECT_EQ(Session::restore(model(), kOptions, path_).query(frame(9)).pose_enc, expected.pose_enc) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input) << at << ": " << error.what();
      ++refused;
    }
  };
  const std::size_t directory = content_.find("PK\x01\x02");
  for (std::size_t at = 3; at < directory; at += directory / 60) flip(at);
  EXPECT_EQ(refused, tried) << "a flip in what the file is for";
  for (std::size_t back = 1; back < 400; back += 7) flip(content_.size() - back);  // the directory, its dates included
  EXPECT_GT(refused, tried / 2);
}

TEST_F(DamagedSession, ASessionOfAnotherModelOrOtherOptionsIsRefused) {
  expect_refused(HasSubstr("another model: found the fingerprint"), Model::synthetic(Config::tiny(), 2));
  Config config = Config::tiny();
  config.camera_rope = true;
  expect_refused(HasSubstr("another configuration"), Model::synthetic(config, 1));
  expect_refused(HasSubstr("dtype fp32, expected bf16"), Model::synthetic(Config::tiny(), 1, {.dtype = DType::bf16}));
  const auto with = [](int SessionOptions::*option, int value) {
    SessionOptions options = kOptions;
    options.*option = value;
    return options;
  };
  expect_refused(HasSubstr("scale_frames 3, expected 2"), model(), with(&SessionOptions::scale_frames, 2));
  expect_refused(HasSubstr("window 4, expected 64"), model(), with(&SessionOptions::window, 64));
  expect_refused(HasSubstr("keyframe_interval 3, expected 1"), model(), with(&SessionOptions::keyframe_interval, 1));
  expect_refused(HasSubstr("camera_iterations 2, expected 4"), model(), with(&SessionOptions::camera_iterations, 4));
  SessionOptions other = kOptions;
  other.trajectory_memory = false;
  expect_refused(HasSubstr("trajectory_memory on, expected off"), model(), other);
  other = kOptions;
  other.keyframe_interval = 1;
  Session by_number(model(), other);
  by_number.save(path_);
  other.flow_threshold = 2.5;
  expect_refused(HasSubstr("flow_threshold 0, expected 2.5"), model(), other);
  Session(model(), other).save(path_);
  other.max_non_keyframe_gap = 7;
  expect_refused(HasSubstr("max_non_keyframe_gap 100, expected 7"), model(), other);
  expect_error(
      ErrorCode::input, [&] { (void)WindowedSession::restore(model(), {.session = other}, path_); },
      HasSubstr("a saved session without windows"));

  write_content(path_, content_);
  Session session = Session::restore(model(), kOptions, path_);
  expect_error(
      ErrorCode::usage, [&] { (void)session.push(Image(56, 28)); }, HasSubstr("56x28 pixels in a session of 28x28"));
}

TEST_F(DamagedSession, NumbersThatCannotBeAreRefused) {
  const std::pair<const char*, std::pair<const char*, const char*>> cases[] = {
      {"\"version\": 2", {"\"version\": 1", "version 1, expected 2"}},
      {"\"version\": 2", {"\"versio\": 2", "no field version"}},
      {"\"options.window\": 4", {"\"options.window\": -4", "options.window is -4"}},
      {"\"options.window\": 4", {"\"options.window\": 1e300", "options.window is 1e+300"}},
      {"\"options.window\": 4", {"\"options.window\": \"4\"", "options.window is"}},
      {"\"frame.width\": 28", {"\"frame.width\": 2147483640", "pixels in a file of"}},
      {"\"frame.width\": 28", {"\"frame.width\": 27", "27x28"}},
      {"\"frame.width\": 28", {"\"frame.width\": 56", "contradict"}},
      {"\"frame.width\": 28", {"\"frame.width\": 0", "0x28"}},
      {"\"streaming\": true", {"\"streaming\": false", "frames is 5"}},
      {"\"streaming\": true", {"\"streaming\": 1", "streaming is 1"}},
      {"\"frames\": 5", {"\"frames\": -1", "frames is -1"}},
      {"\"cache.scale_frames\": 3", {"\"cache.scale_frames\": 4", "cache.scale_frames is 4"}},
      {"\"cache.scale_frames\": 3", {"\"cache.scale_frames\": 0", "cache.window_frames is"}},
      {"\"cache.window_frames\": 1", {"\"cache.window_frames\": 3", "contradict"}},
      {"keys_and_values.first_token\": ", {"keys_and_values.first_token\": 9", "keys_and_values.first_token is"}},
      {"keys_and_values.end_token\": ", {"keys_and_values.end_token\": 99", "array layers.0.keys"}},
      {"keys_and_values.end_token\": ", {"keys_and_values.end_token\": 99999999", "array layers.0.keys"}},
      {"keys_and_values.end_token\": ", {"keys_and_values.end_token\": 999999999999999999", "end_token is"}},
      {"\"camera.frames\": 4", {"\"camera.frames\": 3", "array camera.0.keys"}},
      {"\"camera.frames\": 4", {"\"camera.frames\": 1000000000000", "camera.most_rows is 5"}},
      {"\"camera.most_rows\": 5", {"\"camera.most_rows\": 3", "camera.most_rows is 3"}},
      {"\"camera.frames_seen\": 5", {"\"camera.frames_seen\": 1", "contradict"}},
      {"{", {"[", "JSON"}},
  };
  for (const auto& [from, change] : cases) {
    SCOPED_TRACE(change.first);
    rewrite_fields(from, change.first);
    expect_refused(HasSubstr(change.second));
  }
}

TEST_F(DamagedSession, AFileThatCannotBeWrittenLeavesTheOlderOne) {
  Session session(model(), kOptions);
  for (int i = 0; i < 8; ++i) (void)session.push(frame(i));
  {
    const test::FileSizeLimit limit(content_.size() / 2);
    expect_error(
        ErrorCode::output, [&] { session.save(path_); }, HasSubstr("cannot be written"));
  }
  EXPECT_TRUE(content_of(path_) == content_);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".part"));
  expect_error(
      ErrorCode::output, [&] { session.save(folder_ / "missing/session.npz"); }, HasSubstr("missing/session.npz"));
  session.save(path_);
  EXPECT_EQ(Session::restore(model(), kOptions, path_).frames_pushed(), 8);
}

TEST_F(DamagedSession, IsNotSavedInTheMiddleOfAFrameOrAtTheEnd) {
  Session session(model(), kOptions);
  session.submit(frame(0));
  expect_error(
      ErrorCode::usage, [&] { session.save(path_); }, HasSubstr("1 frames on their way"));
  (void)session.collect();
  session.save(path_);
  (void)session.finish();
  expect_error(
      ErrorCode::usage, [&] { session.save(path_); }, HasSubstr("finish()"));
}

}  // namespace
}  // namespace lingbot_map
