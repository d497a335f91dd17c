#include "scene/primitive.hpp"

#include <gtest/gtest.h>

#include "scene/builder.hpp"

namespace lingbot_map::scene {
namespace {

Primitive solid(Shape shape, Float3 half) {
  return {shape, 0, {1, 2, 3}, half, {Float3{1, 0, 0}, Float3{0, -1, 0}, Float3{0, 0, 1}}};
}

TEST(Primitive, DistancesOfABox) {
  const Primitive box = solid(Shape::box, {1, 2, 0.5F});
  EXPECT_FLOAT_EQ(signed_distance(box, {1, 2, 3}), -0.5F);
  EXPECT_FLOAT_EQ(signed_distance(box, {4, 2, 3}), 2);
  EXPECT_FLOAT_EQ(signed_distance(box, {1, 7, 3}), 3);
  EXPECT_FLOAT_EQ(signed_distance(box, {5, 8, 3}), 5);  // 3 and 4 beyond an edge
}

TEST(Primitive, DistancesOfRoundSolids) {
  EXPECT_FLOAT_EQ(signed_distance(solid(Shape::ball, {2, 2, 2}), {1, 2, 8}), 3);
  EXPECT_FLOAT_EQ(signed_distance(solid(Shape::cylinder, {2, 1, 2}), {1, 2, 6}), 1);
  EXPECT_FLOAT_EQ(signed_distance(solid(Shape::cylinder, {2, 1, 2}), {1, 5, 3}), 2);
  EXPECT_FLOAT_EQ(signed_distance(solid(Shape::cone, {2, 1, 2}), {1, 5, 3}), 2);  // below the base
  EXPECT_LT(signed_distance(solid(Shape::cone, {2, 1, 2}), {1, 2.5F, 3}), 0);
}

TEST(Primitive, RaysThroughTheMiddle) {
  const Vec3 origin = {1, 2, -7};
  const Vec3 ahead = {0, 0, 2};
  for (const Shape shape : {Shape::box, Shape::cylinder, Shape::ball}) {
    const Interval inside = intersect(solid(shape, {1, 1, 2}), origin, ahead);
    EXPECT_NEAR(inside.enter, 4, 1e-9);
    EXPECT_NEAR(inside.leave, 6, 1e-9);
  }
  const Interval cone = intersect(solid(Shape::cone, {1, 1, 2}), origin, ahead);  // half as wide at half the height
  EXPECT_NEAR(cone.enter, 4.5, 1e-9);
  EXPECT_NEAR(cone.leave, 5.5, 1e-9);
}

TEST(Primitive, SteepRaysMeetOnlyTheLowerHalfOfACone) {
  const Primitive cone = solid(Shape::cone, {1, 1, 1});
  const Interval down = intersect(cone, {1.25, -8, 3}, {0, 1, 0});  // y points down: from above
  EXPECT_NEAR(down.enter, 9.5, 1e-6);
  EXPECT_NEAR(down.leave, 11, 1e-6);
  const Interval up = intersect(cone, {1.25, 12, 3}, {0, -1, 0});
  EXPECT_NEAR(up.enter, 9, 1e-6);
  EXPECT_NEAR(up.leave, 10.5, 1e-6);
  const Interval missed = intersect(cone, {2.5, -8, 3}, {0, 1, 0});
  EXPECT_GT(missed.enter, missed.leave);
}

TEST(Primitive, PointsWhereRaysEnterLieOnTheSurfaceOfTurnedSolids) {
  Builder build(5);
  const int plain = build.material({});
  const Spot spot = {0.5F, 1, 0.7F, 0.2F};
  build.leaning_box(spot, {0, 0, 0}, {1, 2, 0.6F}, plain, 0.3F, 0.4F);
  build.lying_cylinder(spot, {0, 1, 0}, 0.4F, 1.5F, plain, 0.2F);
  build.cylinder(spot, {0, 0, 0}, 0.5F, 2, plain);
  build.ball(spot, {0, 1, 0}, {0.5F, 0.5F, 0.5F}, plain);
  build.cone(spot, {0, 0, 0}, 0.7F, 1.6F, plain);
  Random random(3);
  int met = 0;
  for (const Primitive& solid : build.scene.primitives) {
    for (int i = 0; i < 800; ++i) {
      const Vec3 from = {random.uniform(-4, 4), random.uniform(-4, 3), -5};
      const Vec3 way = {random.uniform(-0.5F, 0.5F), random.uniform(-0.5F, 0.5F), 1};
      const Interval inside = intersect(solid, from, way);
      if (inside.enter >= inside.leave) continue;
      ++met;
      const auto at = [&](double t) {
        return to_float({from[0] + t * way[0], from[1] + t * way[1], from[2] + t * way[2]});
      };
      EXPECT_NEAR(signed_distance(solid, at(inside.enter)), 0, 1e-4);
      EXPECT_NEAR(signed_distance(solid, at(inside.leave)), 0, 1e-4);
      EXPECT_LT(signed_distance(solid, at((inside.enter + inside.leave) / 2)), 1e-4);
    }
  }
  EXPECT_GT(met, 50);
}

}  // namespace
}  // namespace lingbot_map::scene
