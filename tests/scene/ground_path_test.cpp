#include "scene/ground_path.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "scene/walk_grid.hpp"

namespace lingbot_map::scene {
namespace {

/// An empty hall of 6 x 4 m with a wall across that leaves a gap of 1.4 m.
World hall(float gap) {
  Builder build(1);
  const int plain = build.material({});
  build.box({3, 1.3F - gap / 2, 0, 0}, {0, 0, 0}, {0.2F, 3, 2.6F - gap}, plain);
  build.box({3, 3.3F, 0, 0}, {0, 0, 0}, {0.2F, 3, 1.4F}, plain);
  World world;
  world.scene = std::move(build.scene);
  world.scene.finish();
  world.walk.areas = {{0, 0, 2.9F, 4}, {3.1F, 0, 6, 4}};
  return world;
}

TEST(WalkGrid, WaysGoThroughGapsAndKeepAway) {
  const World world = hall(1.4F);
  const WalkGrid grid(world.scene, world.walk.areas, 1.6F);
  EXPECT_LT(grid.clearance({3, 3.3F}), 0);
  EXPECT_FLOAT_EQ(grid.clearance({1, 2}), WalkGrid::kFarthest);
  EXPECT_EQ(grid.clearance({50, 2}), 0);
  const std::vector<GroundPoint> way = grid.way({0.6F, 0.6F}, {5.4F, 3.4F}, 0.3F);
  ASSERT_GT(way.size(), 10U);
  for (const GroundPoint& point : way) EXPECT_GE(clearance(world.scene, {point.x, -1.6F, point.z}, 1), 0.29F);
}

TEST(WalkGrid, WithoutAGapThereIsNoWay) {
  const World world = hall(0.3F);
  const WalkGrid grid(world.scene, world.walk.areas, 1.6F);
  EXPECT_TRUE(grid.way({0.6F, 0.6F}, {5.4F, 3.4F}, 0.3F).empty());
  EXPECT_TRUE(grid.way({-9, 0}, {5.4F, 3.4F}, 0.3F).empty());
}

TEST(GroundPath, IsLongEnoughAndFree) {
  const World world = hall(1.4F);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const auto path = ground_path(world, random, 30);
    ASSERT_TRUE(path) << seed;
    ASSERT_GE(static_cast<double>(path->x.size()) * kPathSpacing, 30);
    for (std::size_t i = 0; i < path->x.size(); ++i) {
      const Float3 eye = {static_cast<float>(path->x[i]), -1.6F, static_cast<float>(path->z[i])};
      EXPECT_GE(clearance(world.scene, eye, 1), 0.18F);
      if (i == 0) continue;
      EXPECT_LT(std::hypot(path->x[i] - path->x[i - 1], path->z[i] - path->z[i - 1]), 1.01 * kPathSpacing);
    }
  }
}

TEST(GroundPath, WhereNothingIsFreeThereIsNone) {
  World world = hall(1.4F);
  Builder build(2);
  build.box({3, 2, 0, 0}, {0, 0, 0}, {10, 2, 10}, build.material({}));
  world.scene = std::move(build.scene);
  world.scene.finish();
  Random random(1);
  EXPECT_FALSE(ground_path(world, random, 10));
}

}  // namespace
}  // namespace lingbot_map::scene
