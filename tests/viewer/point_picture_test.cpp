#include "viewer/point_picture.hpp"

#include <limits>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::HasSubstr;

std::vector<Rigid3> path() {
  std::vector<Rigid3> cameras;
  for (int i = 0; i < 100; ++i) cameras.push_back({{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0.1 * i}});
  return cameras;
}

/// Floor and ceiling of a corridor along the path.
std::vector<ColouredPoint> corridor() {
  std::vector<ColouredPoint> points;
  for (int i = 0; i < 200; ++i)
    for (int j = 0; j < 40; ++j) {
      const float x = 0.05F * static_cast<float>(j - 20);
      const float z = 0.05F * static_cast<float>(i);
      points.push_back({{x, 1, z}, {0, 160, 0}});
      points.push_back({{x, -1, z}, {200, 0, 200}});
    }
  return points;
}

struct Counts {
  int green = 0;
  int purple = 0;
  int path = 0;
};
Counts counts_of(const Image& image) {
  Counts counts;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    const int r = image.pixels[i];
    const int g = image.pixels[i + 1];
    const int b = image.pixels[i + 2];
    counts.green += g > r + 60 && g > b + 60;
    counts.purple += r > 100 && g < 40 && std::abs(r - b) < 10;
    counts.path += (b > r + 60 && b > g + 60) || (r > b + 60 && r > g + 60);
  }
  return counts;
}

TEST(PointPicture, ShowsTheFloorAndThePathFromAbove) {
  const Image image = point_picture(corridor(), path(), {.width = 320, .height = 180, .point_size = 3});
  EXPECT_EQ(image.width, 320);
  EXPECT_EQ(image.height, 180);
  const Counts counts = counts_of(image);
  EXPECT_GT(counts.green, 2000);
  EXPECT_EQ(counts.purple, 0);
  EXPECT_GT(counts.path, 200);
}

TEST(PointPicture, ShowsBacksOnRequest) {
  const Image image =
      point_picture(corridor(), path(), {.width = 320, .height = 180, .point_size = 3, .see_through_backs = false});
  EXPECT_GT(counts_of(image).purple, 2000);
}

TEST(PointPicture, NeedsNoCamerasAndNoPoints) {
  EXPECT_GT(counts_of(point_picture(corridor(), {}, {.width = 320, .height = 180})).green, 500);
  EXPECT_GT(counts_of(point_picture({}, path(), {.width = 320, .height = 180})).path, 200);
}

TEST(PointPicture, RefusesImpossibleWishes) {
  const auto refused = [](const PictureOptions& options, const char* words) {
    expect_error(
        ErrorCode::usage, [&] { static_cast<void>(point_picture({}, path(), options)); }, HasSubstr(words));
  };
  refused({.width = 0}, "0x720 pixels");
  refused({.height = 20000}, "1280x20000 pixels");
  refused({.point_size = 0}, "point size 0");
  refused({.point_size = std::numeric_limits<double>::quiet_NaN()}, "point size");
  refused({.viewpoint = {.elevation_degrees = 91}}, "elevation 91");
  refused({.viewpoint = {.fov_degrees = 0}}, "field of view 0");
  refused({.viewpoint = {.azimuth_degrees = std::numeric_limits<double>::infinity()}}, "azimuth");
  expect_error(
      ErrorCode::input, [] { static_cast<void>(point_picture({}, {}, {})); }, HasSubstr("neither points nor cameras"));
}

}  // namespace
}  // namespace lingbot_map
