#include "export/voxel_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

TEST(VoxelGrid, TakesTheFirstPointOfACube) {
  VoxelGrid grid(0.5);
  EXPECT_TRUE(grid.insert({0.1, 0.1, 0.1}));
  EXPECT_FALSE(grid.insert({0.4, 0.2, 0.49}));
  EXPECT_TRUE(grid.insert({-0.1, 0.1, 0.1}));  // cubes on both sides of zero are two
  EXPECT_TRUE(grid.insert({0.5, 0.1, 0.1}));
  EXPECT_TRUE(grid.contains({0.3, 0.3, 0.3}));
  EXPECT_FALSE(grid.contains({0.3, 0.6, 0.3}));
  EXPECT_EQ(grid.size(), 3);
}

TEST(VoxelGrid, TakesNoPointWithoutANumber) {
  VoxelGrid grid(1e-300);
  EXPECT_FALSE(grid.insert({1, 0, 0}));
  EXPECT_FALSE(grid.insert({std::numeric_limits<double>::quiet_NaN(), 0, 0}));
  EXPECT_FALSE(grid.insert({0, 0, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(grid.size(), 0);
}

TEST(VoxelGrid, RefusesASizeThatIsNone) {
  for (const double size :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    test::expect_error(
        ErrorCode::usage, [&] { VoxelGrid{size}; }, testing::HasSubstr("voxel size"));
}

}  // namespace
}  // namespace lingbot_map
