#include "viewer/seen_side.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

using testing::ElementsAre;

TEST(SeenSide, LosesTheCeilingSeenFromAbove) {
  const ColouredPoint ceiling{{0, -2, 3}, {1, 1, 1}};  // y is down
  const ColouredPoint floor{{0, 1, 3}, {2, 2, 2}};
  const std::vector<Vec3> cameras = {{0, 0, 0}, {0, 0, 3}, {0, 0, 6}};
  EXPECT_THAT(facing(std::vector{ceiling, floor}, cameras, {0, -20, -2}), ElementsAre(floor));
  EXPECT_THAT(facing(std::vector{ceiling, floor}, cameras, {0, 20, 3}), ElementsAre(ceiling));
  EXPECT_THAT(facing(std::vector{ceiling, floor}, cameras, {0, 0, 1}), ElementsAre(ceiling, floor));
}

TEST(SeenSide, AsksTheNearestCamera) {
  const ColouredPoint wall{{5, 0, 10}, {}};
  const std::vector<Vec3> cameras = {{0, 0, 0}, {6, 0, 10}};  // the second one is on the wall's other side
  EXPECT_THAT(facing(std::vector{wall}, cameras, {20, 0, 10}), ElementsAre(wall));
  EXPECT_THAT(facing(std::vector{wall}, cameras, {-20, 0, 10}), ElementsAre());
}

TEST(SeenSide, TakesAnyNumberOfCameras) {
  const ColouredPoint point{{0, 0, 1}, {}};
  EXPECT_THAT(facing(std::vector{point}, {}, {0, 0, 5}), ElementsAre(point));
  std::vector<Vec3> cameras(10'000, Vec3{0, 0, 0});
  EXPECT_THAT(facing(std::vector{point}, cameras, {0, 0, 5}), ElementsAre());
  EXPECT_THAT(facing(std::vector{point}, cameras, {0, 0, -5}), ElementsAre(point));
}

}  // namespace
}  // namespace lingbot_map
