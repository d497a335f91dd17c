#include "viewer/point_canvas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

constexpr Colour kWhite = {255, 255, 255};
constexpr Colour kRed = {200, 0, 0};
constexpr Colour kBlue = {0, 0, 200};

/// At the origin, looking along z.
View straight(int width, int height) {
  View view;
  view.intrinsics = {50, 50, width / 2.0, height / 2.0};
  view.width = width;
  view.height = height;
  return view;
}

Colour at(const Image& image, int column, int row) {
  const std::uint8_t* pixel = &image.pixels[3 * static_cast<std::size_t>(row * image.width + column)];
  return {pixel[0], pixel[1], pixel[2]};
}

int pixels_other_than(const Image& image, const Colour& colour) {
  int count = 0;
  for (int row = 0; row < image.height; ++row)
    for (int column = 0; column < image.width; ++column) count += at(image, column, row) != colour;
  return count;
}

TEST(PointCanvas, PutsAPointWhereThePinholeSeesIt) {
  PointCanvas canvas(straight(60, 40), kWhite);
  canvas.draw_point({0.4, -0.2, 2}, 3, kRed);  // 10 right and 5 above the middle
  const Image image = canvas.image();
  EXPECT_EQ(image.width, 60);
  EXPECT_EQ(image.height, 40);
  EXPECT_EQ(at(image, 40, 15), kRed);
  EXPECT_EQ(at(image, 37, 15), kRed);
  EXPECT_EQ(at(image, 36, 15), kWhite);
  EXPECT_EQ(at(image, 40, 19), kWhite);
  EXPECT_NEAR(pixels_other_than(image, kWhite), 3.14 * 9, 12);
}

TEST(PointCanvas, ShowsTheNearerPointInAnyOrder) {
  for (const bool near_first : {false, true}) {
    PointCanvas canvas(straight(20, 20), kWhite);
    if (near_first) canvas.draw_point({0, 0, 1}, 4, kRed);
    canvas.draw_point({0, 0, 3}, 4, kBlue);
    if (!near_first) canvas.draw_point({0, 0, 1}, 4, kRed);
    EXPECT_EQ(at(canvas.image(), 10, 10), kRed);
  }
}

TEST(PointCanvas, LeavesOutWhatItCannotSee) {
  PointCanvas canvas(straight(20, 20), kWhite);
  for (const Vec3& point : {Vec3{0, 0, -1}, Vec3{0, 0, 0}, Vec3{100, 0, 1}, Vec3{0, -1e30, 1}, Vec3{0, 0, 1e-9}})
    canvas.draw_point(point, 2, kRed);
  canvas.draw_line({0, 0, -1}, {1, 0, -2}, 2, kRed);
  EXPECT_EQ(pixels_other_than(canvas.image(), kWhite), 0);
}

TEST(PointCanvas, DrawsALineFromEndToEnd) {
  PointCanvas canvas(straight(60, 40), kWhite);
  canvas.draw_line({-0.4, 0, 2}, {0.8, 0, 4}, 2, kRed);  // from column 20 to column 40 of the middle row
  const Image image = canvas.image();
  for (int column = 20; column < 40; ++column) EXPECT_EQ(at(image, column, 20), kRed) << column;
  EXPECT_EQ(at(image, 17, 20), kWhite);
  EXPECT_EQ(at(image, 43, 20), kWhite);
  EXPECT_EQ(at(image, 30, 23), kWhite);
}

TEST(PointCanvas, CutsALineThatComesFromBehind) {
  PointCanvas canvas(straight(60, 40), kWhite);
  canvas.draw_line({0, 0.1, -5}, {0, 0.1, 5}, 2, kRed);  // enters at the lower border and ends one row below the middle
  const Image image = canvas.image();
  EXPECT_EQ(at(image, 30, 39), kRed);
  EXPECT_EQ(at(image, 30, 21), kRed);
  EXPECT_EQ(at(image, 30, 17), kWhite);
}

TEST(PointCanvas, LetsAHiddenLineShineThrough) {
  PointCanvas canvas(straight(20, 20), kWhite);
  canvas.draw_point({0, 0, 1}, 6, kBlue);
  canvas.draw_line({-2, 0, 5}, {2, 0, 5}, 2, kRed);
  const Image image = canvas.image();
  EXPECT_EQ(at(image, 10, 10), (Colour{40, 0, 160}));
  EXPECT_EQ(at(image, 1, 10), kRed);
}

TEST(PointCanvas, DarkensWhatLiesBehindAnEdge) {
  PointCanvas canvas(straight(40, 20), {0, 0, 0});
  for (int i = -20; i < 20; ++i)
    for (int j = -10; j < 10; ++j) {
      const double depth = i < 0 ? 1 : 2;
      canvas.draw_point({depth * (i + 0.5) / 50, depth * (j + 0.5) / 50, depth}, 1.5, kWhite);
    }
  canvas.shade_edges(5);
  const Image image = canvas.image();
  EXPECT_EQ(at(image, 5, 10), kWhite);
  EXPECT_EQ(at(image, 35, 10), kWhite);
  EXPECT_EQ(at(image, 18, 10), kWhite);  // the near side
  EXPECT_LT(at(image, 21, 10)[0], 150);  // the far side
}

}  // namespace
}  // namespace lingbot_map
