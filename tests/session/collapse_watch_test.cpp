#include "lingbot_map/collapse_watch.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "expect_error.hpp"

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
