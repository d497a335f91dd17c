#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plot/axes.hpp"
#include "plot/error_plot.hpp"
#include "plot/trajectory_plot.hpp"

namespace lingbot_map {
namespace {

/// Pixels of about this colour.
std::int64_t count(const Image& image, Colour colour) {
  std::int64_t found = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    int off = 0;
    for (std::size_t c = 0; c < 3; ++c) off = std::max(off, std::abs(image.pixels[i + c] - colour[c]));
    found += off <= 3 ? 1 : 0;
  }
  return found;
}

/// A path in the plane of y = 0 of a world whose y points down, as the cameras' does.
std::vector<PosePair> curve(int poses) {
  std::vector<PosePair> pairs(static_cast<std::size_t>(poses));
  for (int i = 0; i < poses; ++i) {
    PosePair& pair = pairs[static_cast<std::size_t>(i)];
    pair.time = 1305031102.0 + 0.1 * i;
    pair.truth.translation = {std::sin(0.1 * i), 0, 0.1 * i};
    pair.estimate.translation = {std::sin(0.1 * i) + 0.01 * i, 0, 0.1 * i};
  }
  return pairs;
}

TEST(Canvas, DrawsInThePlacesAndColoursAskedFor) {
  Canvas canvas(60, 40);
  canvas.fill({10, 10}, {30, 20}, palette::start);
  canvas.line({0, 30}, {60, 30}, palette::end, 4);
  const Image image = canvas.finish();
  EXPECT_EQ(image.width, 60);
  EXPECT_EQ(image.height, 40);
  EXPECT_NEAR(static_cast<double>(count(image, palette::start)), 200, 40);
  EXPECT_NEAR(static_cast<double>(count(image, palette::end)), 240, 70);
  EXPECT_GT(count(image, palette::white), 1500);
}

TEST(Canvas, CutsOffWhatLiesOutside) {
  Canvas canvas(20, 20);
  canvas.line({-1e9, 10}, {1e9, 10}, palette::end, 2);
  canvas.text({-500, -500}, Anchor::left, "far away", 12, palette::ink);
  canvas.upward_text({-500, 500}, Anchor::centre, "far away", 12, palette::ink);
  canvas.upward_text({0, 0}, Anchor::centre, "at the corner", 12, palette::ink);
  EXPECT_GT(count(canvas.finish(), palette::end), 15);
}

TEST(TopView, IsFoundInEveryConventionOfWorlds) {
  std::vector<AlignedPose> poses(3);
  const auto view_of = [&](const Mat3& rotation) {
    for (AlignedPose& pose : poses) pose.truth.rotation = rotation;
    return top_view_of(poses);
  };
  // Columns are the camera's right, down and forward in the world.
  EXPECT_EQ(view_of({1, 0, 0, 0, 1, 0, 0, 0, 1}), (TopView{0, 2}));    // y down: x to the right, z up the sheet
  EXPECT_EQ(view_of({1, 0, 0, 0, 0, 1, 0, -1, 0}), (TopView{0, 1}));   // z up: x and y
  EXPECT_EQ(view_of({1, 0, 0, 0, -1, 0, 0, 0, -1}), (TopView{2, 0}));  // y up
  EXPECT_EQ(view_of({0, 0, 1, 1, 0, 0, 0, 1, 0}), (TopView{1, 0}));    // z down, as in north-east-down
}

TEST(TopView, WithoutADownLeavesOutTheShortestAxis) {
  std::vector<AlignedPose> poses(2);
  poses[1].truth = {{-1, 0, 0, 0, -1, 0, 0, 0, 1}, {5, 4, 0.1}};
  EXPECT_EQ(top_view_of(poses), (TopView{0, 1}));
}

TEST(Plots, ShowTruthEstimateStartAndEnd) {
  const TrajectoryEvaluation evaluation = evaluate(curve(80), {.alignment = Alignment::none});
  const Image image = draw_trajectory(evaluation);
  EXPECT_EQ(image.width, 1000);
  EXPECT_GT(count(image, palette::truth), 1000);
  EXPECT_GT(count(image, palette::estimate), 500);
  EXPECT_GT(count(image, palette::start), 100);
  EXPECT_GT(count(image, palette::end), 100);
}

TEST(Plots, ShowErrorsOverTime) {
  const Image image = draw_errors(evaluate(curve(80), {.alignment = Alignment::none}));
  EXPECT_GT(count(image, palette::estimate), 700);
  EXPECT_GT(count(image, palette::rotation), 700);
}

TEST(Plots, OfPathsOfAnyLengthAnywhere) {
  std::vector<PosePair> pairs(3);
  for (const double far : {0.0, 4.5e6, 1e16, 1e100}) {
    for (const double length : {0.0, 1e-9, 1.0, 1e12, 1e100}) {
      for (PosePair& pair : pairs) pair.truth.translation = pair.estimate.translation = {far, far, -far};
      for (Rigid3* end : {&pairs[2].truth, &pairs[2].estimate}) end->translation[2] += length;
      const TrajectoryEvaluation evaluation = evaluate(pairs, {.alignment = Alignment::none});
      EXPECT_LE(draw_trajectory(evaluation).height, 1100);
      EXPECT_EQ(draw_errors(evaluation).width, 1000);
    }
  }
}

}  // namespace
}  // namespace lingbot_map
