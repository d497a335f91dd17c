#include "lingbot_map/collapse_watch.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "expect_error.hpp"
#include "lingbot_map/lingbot_map.hpp"
#include "session/rewritten_state.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kWidth = 64;
constexpr int kHeight = 48;

/// What a network would say of a camera in a corridor along z that ends at z = 40, if it saw in another unit and
/// trusted itself so much.
FrameResult in_corridor(int index, double z, double unit = 1, float confidence = 3) {
  FrameResult result;
  result.index = index;
  result.width = kWidth;
  result.height = kHeight;
  const float fov = 1.2F;
  result.pose_enc = {0, 0, static_cast<float>(unit * z), 0, 0, 0, 1, fov, fov};
  const double focal_x = kWidth / 2.0 / std::tan(fov / 2);
  const double focal_y = kHeight / 2.0 / std::tan(fov / 2);
  for (int v = 0; v < kHeight; ++v)
    for (int u = 0; u < kWidth; ++u) {
      const double across = std::max(std::abs((u - kWidth / 2.0) / focal_x), std::abs((v - kHeight / 2.0) / focal_y));
      result.depth.push_back(static_cast<float>(unit * std::min(2 / std::max(across, 1e-6), 40 - z)));
      result.depth_conf.push_back(confidence);
    }
  return result;
}

struct Told {
  std::int64_t frame;
  CollapseSign sign;
  friend bool operator==(const Told&, const Told&) = default;
};
std::vector<Told> told(int frames, const std::function<FrameResult(int)>& frame) {
  CollapseWatch watch;
  std::vector<Told> all;
  for (int i = 0; i < frames; ++i)
    for (const Collapse& sign : watch.look(frame(i))) all.push_back({sign.frame, sign.sign});
  return all;
}

TEST(CollapseWatch, HasNothingToSayOfASteadyWalk) {
  EXPECT_THAT(told(100, [](int i) { return in_corridor(i, 0.1 * i); }), IsEmpty());
}

TEST(CollapseWatch, LetsACameraStartAfterARest) {
  EXPECT_THAT(told(100, [](int i) { return in_corridor(i, i < 50 ? 0 : 0.15 * (i - 50)); }), IsEmpty());
}

TEST(CollapseWatch, TellsAJumpOfTheCameraOnce) {
  EXPECT_THAT(told(100, [](int i) { return in_corridor(i, 0.05 * i + (i < 60 ? 0 : 12)); }),
              ElementsAre(Told{60, CollapseSign::translation}));
}

TEST(CollapseWatch, TellsWhenTheUnitChanges) {
  // The camera's place is that of the old unit, so only depth tells.
  const auto frame = [](int i) {
    FrameResult result = in_corridor(i, 0.05 * i);
    if (i >= 40)
      for (float& depth : result.depth) depth *= 1.6F;
    return result;
  };
  EXPECT_THAT(told(100, frame), ElementsAre(Told{40, CollapseSign::scale}));
}

TEST(CollapseWatch, TakesAnOpeningViewForNoChangeOfUnit) {
  // From frame 50 on the corridor's end is gone: the median depth grows, what both frames see stays.
  const auto frame = [](int i) {
    FrameResult result = in_corridor(i, 0.05 * i);
    if (i >= 50)
      for (int v = 0; v < kHeight / 3; ++v)
        for (int u = 0; u < kWidth; ++u) result.depth[static_cast<std::size_t>(v * kWidth + u)] = 500;
    return result;
  };
  EXPECT_THAT(told(100, frame), IsEmpty());
}

TEST(CollapseWatch, TellsWhenConfidenceFalls) {
  EXPECT_THAT(told(100, [](int i) { return in_corridor(i, 0.05 * i, 1, i < 30 ? 5.0F : 1.3F); }),
              ElementsAre(Told{30, CollapseSign::confidence}));
  EXPECT_THAT(told(100, [](int i) { return in_corridor(i, 0.05 * i, 1, i < 30 ? 1.3F : 5.0F); }), IsEmpty());
}

TEST(CollapseWatch, TellsALostPoseOnce) {
  for (const float broken : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    EXPECT_THAT(told(60,
                     [broken](int i) {
                       FrameResult result = in_corridor(i, 0.05 * i);
                       if (i >= 20 && i < 25) result.pose_enc[1] = broken;
                       return result;
                     }),
                ElementsAre(Told{20, CollapseSign::pose}));
}

TEST(CollapseWatch, KnowsWhatIsUsualInAnyUnit) {
  for (const double unit : {0.001, 1.0, 1000.0}) {
    EXPECT_THAT(told(50, [unit](int i) { return in_corridor(i, 0.1 * i, unit); }), IsEmpty());
    EXPECT_THAT(told(50, [unit](int i) { return in_corridor(i, 0.05 * i + (i < 20 ? 0 : 12), unit); }),
                ElementsAre(Told{20, CollapseSign::translation}));
  }
}

TEST(CollapseWatch, WaitsUntilItKnowsWhatIsUsual) {
  EXPECT_THAT(told(20, [](int i) { return in_corridor(i, i < 3 ? 0.05 * i : 12 + 0.05 * i); }), IsEmpty());
  CollapseWatch watch;
  for (int i = 0; i < 30; ++i) ASSERT_THAT(watch.look(in_corridor(i, 0.05 * i)), IsEmpty());
  watch.restart();
  EXPECT_THAT(watch.look(in_corridor(30, 20)), IsEmpty());
}

TEST(CollapseWatch, TakesTheLastFrameBack) {
  CollapseWatch watch;
  for (int i = 0; i < 30; ++i) (void)watch.look(in_corridor(i, 0.05 * i));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(watch.look(in_corridor(30, 15)).size(), 1U) << "as if it had not been looked at before";
    watch.take_back();
  }
  EXPECT_THAT(watch.look(in_corridor(30, 1.5)), IsEmpty());
  EXPECT_THAT(watch.look(in_corridor(31, 1.55)), IsEmpty());
  watch.take_back();
  test::expect_error(
      ErrorCode::usage, [&] { watch.take_back(); }, HasSubstr("take_back"));
  CollapseWatch fresh;
  test::expect_error(
      ErrorCode::usage, [&] { fresh.take_back(); }, HasSubstr("take_back"));
}

class SavedCollapseWatch : public testing::Test {
 protected:
  /// In the file of a session that has nothing else to say.
  void save(const CollapseWatch* watch) const { session_.save(path_, watch); }
  void expect_refused(CollapseWatch& watch, const char* words) const {
    test::expect_error(
        ErrorCode::input, [&] { watch.restore(path_); }, testing::AllOf(HasSubstr(path_.string()), HasSubstr(words)));
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "session.npz";
  Model model_ = Model::synthetic(Config::tiny(), 1);
  Session session_{model_};
};

TEST_F(SavedCollapseWatch, GoesOnFromAnyFrame) {
  const auto frame = [](int i) {
    FrameResult result = in_corridor(i, 0.05 * i + (i < 15 ? 0 : 12), 1, i < 22 ? 5.0F : 1.3F);
    if (i >= 30 && i < 33) result.pose_enc[1] = std::numeric_limits<float>::quiet_NaN();
    return result;
  };
  CollapseWatch undisturbed;
  save(&undisturbed);
  for (int i = 0; i < 40; ++i) {
    const std::vector<Collapse> expected = undisturbed.look(frame(i));
    CollapseWatch watch;
    (void)watch.look(frame(0));  // is forgotten
    watch.restore(path_);
    const std::vector<Collapse> found = watch.look(frame(i));
    ASSERT_EQ(found.size(), expected.size()) << "frame " << i;
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].sign, expected[k].sign);
      EXPECT_EQ(found[k].found, expected[k].found);
      EXPECT_EQ(found[k].usual, expected[k].usual);
    }
    save(&watch);
  }
}

TEST_F(SavedCollapseWatch, WhatCannotBeIsRefused) {
  CollapseWatch watch;
  save(nullptr);
  expect_refused(watch, "saved without a collapse watch");
  for (int i = 0; i < 12; ++i) (void)watch.look(in_corridor(i, 0.05 * i));
  save(&watch);
  CollapseWatch other({.scale = 1.5});
  expect_refused(other, "watch.limit.scale is 1.25, expected 1.5");
  const std::string whole = test::content_of(path_);
  const std::pair<const char*, std::pair<const char*, const char*>> cases[] = {
      {"\"watch.steps\": 11", {"\"watch.steps\": 12", "array watch.steps has"}},
      {"\"watch.steps\": 11", {"\"watch.steps\": 31", "watch.steps is 31"}},
      {"\"watch.steps\": 11", {"\"watch.steps\": -1", "watch.steps is -1"}},
      {"\"watch.width\": 64", {"\"watch.width\": 65", "array watch.depth has"}},
      {"\"watch.width\": 64", {"\"watch.width\": 0", "watch.height is 48"}},
      {"\"watch.height\": 48", {"\"watch.height\": 1000000000000", "watch.height is"}},
      {"\"watch.blind\": false", {"\"watch.blind\": 7", "watch.blind is 7"}}};
  for (const auto& [from, change] : cases) {
    test::write_content(path_, whole);
    test::rewrite_state(path_, from, change.first);
    expect_refused(watch, change.second);
  }
  test::write_content(path_, whole.substr(0, whole.size() / 2));
  expect_refused(watch, "end record");
  test::write_content(path_, whole);
  watch.restore(path_);
  EXPECT_THAT(watch.look(in_corridor(12, 0.6)), IsEmpty()) << "a refused state changes nothing";
}

TEST(CollapseWatch, SaysHowFar) {
  CollapseWatch watch;
  for (int i = 0; i < 30; ++i) (void)watch.look(in_corridor(i, 0.05 * i));
  const auto signs = watch.look(in_corridor(30, 15));
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_GT(signs[0].found, 2);
  EXPECT_LT(signs[0].usual, 0.02);
  EXPECT_THAT(signs[0].text(), testing::MatchesRegex("frame 30: the camera moved by [0-9.]+ times the median depth in "
                                                     "one frame, usually by [0-9.]+"));
  EXPECT_EQ((Collapse{7, CollapseSign::scale, 1.5, 1}.text()),
            "frame 7: what the frame before saw too is 1.5 times as far away");
  EXPECT_EQ((Collapse{7, CollapseSign::confidence, 0.25, 2}.text()),
            "frame 7: the median confidence above 1 fell to 0.25, usually 2");
  EXPECT_EQ((Collapse{.frame = 7}.text()), "frame 7: the camera has no pose");
  EXPECT_EQ(name_of(CollapseSign::translation), "translation");
}

TEST(CollapseWatch, TakesMapsWithoutAnyDepth) {
  const auto frame = [](int i) {
    FrameResult result = in_corridor(i, 0.1 * i);
    for (float& depth : result.depth) depth = i % 2 == 0 ? 0 : std::numeric_limits<float>::quiet_NaN();
    result.pose_enc[7] = 0;
    return result;
  };
  EXPECT_THAT(told(40, frame), IsEmpty());
}

TEST(CollapseWatch, RefusesLimitsThatAreNone) {
  const auto refused = [](const CollapseLimits& limits, const char* words) {
    test::expect_error(
        ErrorCode::usage, [&] { CollapseWatch watch(limits); }, HasSubstr(words));
  };
  refused({.translation = 1}, "translation: found 1");
  refused({.scale = 0.5}, "scale: found 0.5");
  refused({.confidence = std::numeric_limits<double>::quiet_NaN()}, "confidence: found nan");
  refused({.frames = 0}, "frames: found 0");
  refused({.frames_to_settle = 0}, "frames_to_settle: found 0");
  refused({.frames = 3, .frames_to_settle = 5}, "expected 3 (frames) at most");
}

}  // namespace
}  // namespace lingbot_map
