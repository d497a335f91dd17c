#include "evaluation/umeyama.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "expect_error.hpp"
#include "geometry/svd3.hpp"
#include "small_trajectories.hpp"

namespace lingbot_map {
namespace {

using test::about_x;
using test::about_y;
using test::expect_error;
using test::wavy_path;
using testing::HasSubstr;

const Sim3 kMap = {2.5, (Rigid3{about_y(130), {}} * Rigid3{about_x(-70), {}}).rotation, {5, -6, 700}};

std::vector<Vec3> mapped(const Sim3& map, const std::vector<Vec3>& points) {
  std::vector<Vec3> result;
  for (const Vec3& point : points) result.push_back(map * point);
  return result;
}

double squares(const Sim3& map, const std::vector<Vec3>& from, const std::vector<Vec3>& to) {
  double sum = 0;
  for (std::size_t n = 0; n < from.size(); ++n)
    for (std::size_t i = 0; i < 3; ++i) sum += std::pow((map * from[n])[i] - to[n][i], 2);
  return sum;
}

void expect_near(const Sim3& found, const Sim3& expected, double tolerance) {
  EXPECT_NEAR(found.scale, expected.scale, tolerance);
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(found.rotation[i], expected.rotation[i], tolerance);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(found.translation[i], expected.translation[i], 100 * tolerance);
}

TEST(Umeyama, FindsTheMapThatWasApplied) {
  const std::vector<Vec3> points = wavy_path(20);
  expect_near(umeyama(points, mapped(kMap, points), true), kMap, 1e-12);
}

TEST(Umeyama, FindsItFromThreePointsAndFromAPlane) {
  const std::vector<Vec3> three = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}};
  expect_near(umeyama(three, mapped(kMap, three), true), kMap, 1e-11);
}

TEST(Umeyama, WithoutScaleItIsOne) {
  const std::vector<Vec3> points = wavy_path(20);
  Sim3 rigid = kMap;
  rigid.scale = 1;
  expect_near(umeyama(points, mapped(rigid, points), false), rigid, 1e-12);
  EXPECT_EQ(umeyama(points, mapped(kMap, points), false).scale, 1);
}

TEST(Umeyama, NeverMirrors) {
  const std::vector<Vec3> points = wavy_path(20);
  std::vector<Vec3> mirror = points;
  for (Vec3& point : mirror) point[2] = -point[2];
  const Sim3 found = umeyama(points, mirror, true);
  EXPECT_NEAR(determinant(found.rotation), 1, 1e-12);
  EXPECT_GT(found.scale, 0);
}

TEST(Umeyama, NoSmallChangeIsBetter) {
  std::mt19937 random(4);
  std::normal_distribution<double> noise(0, 0.3);
  const std::vector<Vec3> from = wavy_path(30);
  std::vector<Vec3> to = mapped(kMap, from);
  for (Vec3& point : to)
    for (double& coordinate : point) coordinate += noise(random);
  const Sim3 best = umeyama(from, to, true);
  const double least = squares(best, from, to);
  for (int trial = 0; trial < 200; ++trial) {
    Sim3 other = best;
    other.scale *= 1 + 0.01 * noise(random);
    other.rotation =
        (Rigid3{about_y(noise(random)), {}} * Rigid3{about_x(noise(random)), {}} * Rigid3{best.rotation, {}}).rotation;
    for (double& coordinate : other.translation) coordinate += 0.05 * noise(random);
    EXPECT_GE(squares(other, from, to), least);
  }
}

TEST(Umeyama, RefusesWhatHasNoOneAnswer) {
  const auto refused = [](const std::vector<Vec3>& from, const std::vector<Vec3>& to, const char* text) {
    expect_error(
        ErrorCode::input, [&] { (void)umeyama(from, to, true); }, HasSubstr(text));
  };
  const std::vector<Vec3> points = wavy_path(10);
  const std::vector<Vec3> still(10, Vec3{4, 5, 6});
  std::vector<Vec3> line;
  for (int i = 0; i < 10; ++i) line.push_back({1 + 0.1 * i, 2 - 0.3 * i, 0.7 * i});
  refused({}, {}, "found 0 pairs");
  refused({{0, 0, 0}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}}, "found 2 pairs of points, expected 3 or more");
  refused(still, points, "all in one place");
  refused(points, still, "all in one place");
  refused(line, points, "one straight line");
  refused(points, line, "one straight line");
  std::vector<Vec3> broken = points;
  broken[3][1] = std::numeric_limits<double>::quiet_NaN();
  refused(points, broken, "not finite");
  broken[3][1] = 1e200;
  refused(points, broken, "too far away");
}

}  // namespace
}  // namespace lingbot_map
