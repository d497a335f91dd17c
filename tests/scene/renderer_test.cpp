#include "scene/renderer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "scene/builder.hpp"
#include "scene/sequence.hpp"

namespace lingbot_map::scene {
namespace {

const Intrinsics kCamera = {60, 55, 40, 30};
constexpr int kWidth = 80;
constexpr int kHeight = 60;

Primitive solid(Shape shape, Float3 centre, Float3 half) {
  return {shape, 0, centre, half, {Float3{1, 0, 0}, Float3{0, -1, 0}, Float3{0, 0, 1}}};
}

Scene scene_of(const Primitive& one) {
  Scene scene;
  scene.materials.push_back({});
  scene.primitives.push_back(one);
  scene.finish();
  return scene;
}

TEST(Renderer, DepthOfAWallIsItsDistanceEverywhere) {
  const Scene scene = scene_of(solid(Shape::box, {0, 0, 6}, {100, 100, 1}));
  for (const float depth : render(scene, {}, kCamera, kWidth, kHeight).depth) EXPECT_FLOAT_EQ(depth, 5);
}

TEST(Renderer, DepthOfAFloorFollowsTheRows) {
  const Scene scene = scene_of(solid(Shape::box, {0, 2.5F, 0}, {1000, 1, 1000}));  // 1.5 m below the camera
  const RenderedFrame frame = render(scene, {}, kCamera, kWidth, kHeight);
  for (int v = 0; v < kHeight; ++v) {
    for (int u = 0; u < kWidth; ++u) {
      const double expected = v > 30 ? 1.5 * kCamera.fy / (v - kCamera.cy) : 0;
      EXPECT_NEAR(frame.depth[v * kWidth + u], expected, 1e-5 * expected) << u << " " << v;
    }
  }
}

TEST(Renderer, DepthOfABallIsTheQuadraticEquations) {
  const Vec3 centre = {0.3, -0.2, 4};
  const double radius = 1.25;
  const Scene scene = scene_of(solid(Shape::ball, to_float(centre), {1.25F, 1.25F, 1.25F}));
  const RenderedFrame frame = render(scene, {}, kCamera, kWidth, kHeight);
  int met = 0;
  for (int v = 0; v < kHeight; ++v) {
    for (int u = 0; u < kWidth; ++u) {
      const Vec3 d = unproject(kCamera, u, v, 1);
      const double a = d[0] * d[0] + d[1] * d[1] + 1;
      const double b = d[0] * centre[0] + d[1] * centre[1] + centre[2];
      const double c = centre[0] * centre[0] + centre[1] * centre[1] + centre[2] * centre[2] - radius * radius;
      const double square = b * b - a * c;
      if (std::abs(square) < 1e-3) continue;  // the outline, where rounding decides
      EXPECT_NEAR(frame.depth[v * kWidth + u], square > 0 ? (b - std::sqrt(square)) / a : 0, 3e-5) << u << " " << v;
      met += square > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(met, 500);
}

TEST(Renderer, ATurnedAndMovedCameraSeesTheSameFromThere) {
  // A quarter turn to the right: the camera's z is the world's x.
  const Rigid3 pose = {{0, 0, 1, 0, 1, 0, -1, 0, 0}, {10, 20, 30}};
  const Scene scene = scene_of(solid(Shape::box, {18, 20, 30}, {1, 100, 100}));
  for (const float depth : render(scene, pose, kCamera, kWidth, kHeight).depth) EXPECT_NEAR(depth, 7, 1e-5);
}

TEST(Renderer, SkyHasNoDepthAndAColour) {
  const Scene scene = scene_of(solid(Shape::ball, {0, 0, -9}, {1, 1, 1}));  // behind the camera
  const RenderedFrame frame = render(scene, {}, kCamera, kWidth, kHeight);
  for (const float depth : frame.depth) EXPECT_EQ(depth, 0);
  EXPECT_GT(frame.colour.pixels[2], 0);
}

TEST(Renderer, DepthAgreesWithRaysInDoublePrecision) {
  for (const SceneKind kind : kSceneKinds) {
    const Sequence sequence({kind, 17, 40, 48, 36});
    for (const int index : {0, 39}) {
      const RenderedFrame frame = sequence.frame(index);
      const Rigid3& pose = sequence.path()[index];
      int wrong = 0;
      int counted = 0;
      for (int v = 0; v < 36; v += 2) {
        for (int u = 0; u < 48; u += 2) {
          const Vec3 point = pose * unproject(sequence.intrinsics(), u, v, 1);
          const Vec3& o = pose.translation;
          const auto hit = cast_ray(sequence.scene(), o, {point[0] - o[0], point[1] - o[1], point[2] - o[2]});
          const double expected = hit ? hit->t : 0;
          ++counted;
          if (std::abs(frame.depth[v * 48 + u] - expected) > 1e-4 * expected) ++wrong;
        }
      }
      EXPECT_LE(wrong, counted / 100) << name_of(kind);  // rays along an outline may go either way
    }
  }
}

TEST(Renderer, EveryInstructionSetDrawsTheSameBits) {
  const int width = 101;  // not whole squares
  const int height = 67;
  for (const SceneKind kind : kSceneKinds) {
    const Sequence sequence({kind, 4, 20, width, height});
    const RenderedFrame best = sequence.frame(11);
    for (const std::string_view set : instruction_sets()) {
      std::vector<std::uint8_t> rgb(best.colour.pixels.size());
      std::vector<float> depth(best.depth.size());
      render_with(set, sequence.scene(), sequence.path()[11], sequence.intrinsics(), width, height, rgb, depth);
      EXPECT_TRUE(rgb == best.colour.pixels) << set << " " << name_of(kind);
      EXPECT_TRUE(depth == best.depth) << set << " " << name_of(kind);
    }
  }
}

TEST(Renderer, ABallThrowsASoftShadowOnTheFloor) {
  Builder build(1);
  Material white;
  white.base = {0.8F, 0.8F, 0.8F};
  white.variation = 0;
  const int material = build.material(white);
  build.box({}, {0, -1, 0}, {100, 1, 100}, material);
  build.ball({}, {0, 2.5F, 6}, {0.5F, 0.5F, 0.5F}, material);
  build.light({0, -5, 6}, {2, 2, 2}, 10, 100, 0.1F);
  build.scene.finish();
  const Rigid3 pose = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, -1.5, 0}};
  const RenderedFrame frame = render(build.scene, pose, {60, 60, 40, 30}, 80, 60);
  const auto grey = [&](int u, int v) { return static_cast<int>(frame.colour.pixels[3 * (v * 80 + u)]); };
  const int row = 45;  // the floor 6 m ahead
  EXPECT_NEAR(frame.depth[row * 80 + 40], 6, 0.01);
  EXPECT_LT(grey(40, row), grey(5, row) - 30);
  int between = 0;
  for (int u = 6; u < 40; ++u) {
    EXPECT_GE(grey(u, row), grey(u + 1, row) - 6);
    if (grey(u, row) > grey(40, row) + 8 && grey(u, row) < grey(15, row) - 8) ++between;
  }
  EXPECT_GE(between, 1);
}

}  // namespace
}  // namespace lingbot_map::scene
