#include "scene/sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "expect_error.hpp"

namespace lingbot_map::scene {
namespace {

using testing::HasSubstr;

constexpr double kDegree = std::numbers::pi / 180;

double angle_between(const Mat3& a, const Mat3& b) {
  double trace = 0;
  for (int i = 0; i < 9; ++i) trace += a[i] * b[i];
  return std::acos(std::clamp((trace - 1) / 2, -1.0, 1.0));
}

std::string name(SceneKind kind, std::uint64_t seed) { return std::string(name_of(kind)) + " " + std::to_string(seed); }

TEST(Sequence, PathsAreSmoothAndStayClearOfSolids) {
  for (const SceneKind kind : kSceneKinds) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const Sequence sequence({kind, seed, 200, 16, 12});
      const CameraPath& path = sequence.path();
      ASSERT_EQ(path.size(), 200U);
      const double largest = kind == SceneKind::street ? 1.5 : 0.3;
      for (std::size_t i = 0; i < path.size(); ++i) {
        const Float3 here = to_float(path[i].translation);
        ASSERT_GE(clearance(sequence.scene(), here, 1), 0.15F) << name(kind, seed) << " frame " << i;
        if (i == 0) continue;
        ASSERT_LT(length(here - to_float(path[i - 1].translation)), largest) << name(kind, seed) << " frame " << i;
        ASSERT_LT(angle_between(path[i].rotation, path[i - 1].rotation), 6 * kDegree)
            << name(kind, seed) << " frame " << i;
        if (i == 1) continue;
        // What changes from step to step is small against what a person or vehicle can do.
        const Float3 change = here - to_float(path[i - 1].translation) * 2 + to_float(path[i - 2].translation);
        ASSERT_LT(length(change), kind == SceneKind::street ? 0.12F : 0.08F) << name(kind, seed) << " frame " << i;
      }
      EXPECT_GT(path_length(path), 4) << name(kind, seed);
    }
  }
}

TEST(Sequence, EveryFrameShowsSomething) {
  for (const SceneKind kind : kSceneKinds) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const Sequence sequence({kind, seed, 100, 40, 30});
      EXPECT_GE(sequence.fov_horizontal(), 44.9 * kDegree);
      EXPECT_LE(sequence.fov_horizontal(), 95.1 * kDegree);
      for (const int index : {0, 50, 99}) {
        const RenderedFrame frame = sequence.frame(index);
        std::vector<float> depth = frame.depth;
        for (const float d : depth) ASSERT_TRUE(std::isfinite(d) && d >= 0 && d < 1000) << name(kind, seed);
        std::erase(depth, 0.F);
        ASSERT_GT(depth.size(), frame.depth.size() / 5) << name(kind, seed) << " frame " << index;
        std::ranges::sort(depth);
        const float middle = depth[depth.size() / 2];
        EXPECT_GT(middle, 0.4F) << name(kind, seed) << " frame " << index;
        EXPECT_LT(middle, 60) << name(kind, seed) << " frame " << index;
        double sum = 0;
        double squares = 0;
        for (const std::uint8_t value : frame.colour.pixels) {
          sum += value;
          squares += value * value;
        }
        const double mean = sum / static_cast<double>(frame.colour.pixels.size());
        EXPECT_GT(mean, 40) << name(kind, seed) << " frame " << index;
        EXPECT_LT(mean, 215) << name(kind, seed) << " frame " << index;
        const double deviation = std::sqrt(squares / static_cast<double>(frame.colour.pixels.size()) - mean * mean);
        EXPECT_GT(deviation, 5) << name(kind, seed) << " frame " << index;
      }
    }
  }
}

TEST(Sequence, TheSeedDecidesEverything) {
  for (const SceneKind kind : kSceneKinds) {
    const SequenceOptions options = {kind, 11, 30, 40, 30};
    const Sequence one(options);
    const Sequence two(options);
    SequenceOptions other = options;
    other.seed = 12;
    const Sequence three(other);
    for (const int index : {0, 29}) {
      EXPECT_TRUE(one.frame(index).colour.pixels == two.frame(index).colour.pixels);
      EXPECT_TRUE(one.frame(index).depth == two.frame(index).depth);
      EXPECT_TRUE(one.path()[index].translation == two.path()[index].translation);
      EXPECT_TRUE(one.path()[index].rotation == two.path()[index].rotation);
      EXPECT_FALSE(one.frame(index).depth == three.frame(index).depth);
    }
    EXPECT_NE(one.fov_horizontal(), three.fov_horizontal());
    EXPECT_NE(one.scene().primitives.size(), three.scene().primitives.size());
  }
}

TEST(Sequence, TheSizeOfFramesChangesNothingElse) {
  const Sequence small({SceneKind::room, 5, 20, 40, 30});
  const Sequence large({SceneKind::room, 5, 20, 80, 60});
  EXPECT_TRUE(small.path()[19].translation == large.path()[19].translation);
  const RenderedFrame a = small.frame(19);
  const RenderedFrame b = large.frame(19);
  // Rays of whole pixels of the small one are rays of every second pixel of the large one.
  int same = 0;
  for (int v = 0; v < 30; ++v)
    for (int u = 0; u < 40; ++u)
      same += std::abs(a.depth[v * 40 + u] - b.depth[4 * v * 40 + 2 * u]) <= 1e-4 * a.depth[v * 40 + u] ? 1 : 0;
  EXPECT_GT(same, 1180);
}

TEST(Sequence, LongSequencesGoOn) {
  for (const SceneKind kind : kSceneKinds) {
    const Sequence sequence({kind, 3, 3000, 16, 12});
    EXPECT_GT(path_length(sequence.path()), 50);
    for (const std::size_t i : {1000U, 2000U, 2999U})
      EXPECT_GE(clearance(sequence.scene(), to_float(sequence.path()[i].translation), 1), 0.15F) << name_of(kind);
  }
}

TEST(Sequence, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [](SequenceOptions options, const char* text) {
    test::expect_error(
        ErrorCode::usage, [&] { const Sequence sequence(options); }, HasSubstr(text));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused({SceneKind::room, 0, 0, 40, 30}, "found 0 frames, expected 1 to 1000000");
  refused({SceneKind::room, 0, -5, 40, 30}, "found -5 frames");
  refused({SceneKind::room, 0, 2000000, 40, 30}, "found 2000000 frames");
  refused({SceneKind::room, 0, 1, 0, 30}, "found the size 0x30, expected sides of 8 to 8192 pixels");
  refused({SceneKind::room, 0, 1, 40, -30}, "found the size 40x-30");
  refused({SceneKind::room, 0, 1, 40, 9000}, "found the size 40x9000");
  refused({SceneKind::room, 0, 1, 40, 30, 0.01}, "field of view");
  refused({SceneKind::room, 0, 1, 40, 30, -1}, "field of view");
  refused({SceneKind::room, 0, 1, 40, 30, 3.2}, "field of view");
  refused({SceneKind::room, 0, 1, 40, 30, nan}, "field of view");
}

TEST(SceneKind, NamesAreReadBack) {
  for (const SceneKind kind : kSceneKinds) EXPECT_EQ(scene_kind(name_of(kind)), kind);
  EXPECT_FALSE(scene_kind("Room"));
  EXPECT_FALSE(scene_kind(""));
}

}  // namespace
}  // namespace lingbot_map::scene
