/// Draws what a camera sees on its way through a small room, and writes it as PNG files:
///     make_example_frames FOLDER [FRAMES]
/// Every pixel is one ray against the walls of the room and a few boxes; the same folder comes out on every machine.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "lingbot_map/error.hpp"
#include "media/write_png.hpp"

namespace {

using lingbot_map::Image;

constexpr int kWidth = 252;
constexpr int kHeight = 168;
constexpr int kMostFrames = 1000;
constexpr double kFocal = 200;  // pixels

/// Metres; x right, y down, z forward.
struct Vec {
  double x, y, z;

  [[nodiscard]] double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};
Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vec operator*(double s, Vec v) { return {s * v.x, s * v.y, s * v.z}; }
Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec normalised(Vec v) { return 1 / std::sqrt(dot(v, v)) * v; }

struct Box {
  Vec low, high, color;
};

constexpr Box kRoom = {{-3, -2.4, -3}, {3, 0, 4}, {0.86, 0.82, 0.74}};  // the floor is y = 0, up is negative y
constexpr std::array<Box, 5> kThings = {{
    {{-2.4, -0.75, 1.6}, {-1.0, 0, 2.6}, {0.72, 0.25, 0.20}},
    {{0.9, -1.3, 2.4}, {1.7, 0, 3.2}, {0.20, 0.45, 0.70}},
    {{-0.4, -0.45, 0.9}, {0.3, 0, 1.5}, {0.85, 0.68, 0.20}},
    {{1.9, -0.6, 0.4}, {2.6, 0, 1.4}, {0.30, 0.60, 0.35}},
    {{-1.9, -1.15, 1.9}, {-1.5, -0.75, 2.3}, {0.60, 0.35, 0.65}},
}};

/// Where a ray meets a box: distance in units of the ray, and the axis that the surface faces.
struct Hit {
  double distance;
  int axis;
};

/// The two crossings of a ray with a box, or an empty interval (enter beyond leave).
struct Crossing {
  Hit enter, leave;
};

Crossing cross_box(const Box& box, Vec from, Vec ray) {
  Crossing crossing{{-1e9, 0}, {1e9, 0}};
  for (int axis = 0; axis < 3; ++axis) {
    const double speed = std::abs(ray[axis]) < 1e-12 ? 1e-12 : ray[axis];
    const double a = (box.low[axis] - from[axis]) / speed;
    const double b = (box.high[axis] - from[axis]) / speed;
    if (std::min(a, b) > crossing.enter.distance) crossing.enter = {std::min(a, b), axis};
    if (std::max(a, b) < crossing.leave.distance) crossing.leave = {std::max(a, b), axis};
  }
  return crossing;
}

/// Squares of two tones on a surface that faces `axis`, and fine stripes, so that there is something to recognise.
double pattern(Vec point, int axis, double side) {
  const double u = axis == 0 ? point.z : point.x;
  const double v = axis == 1 ? point.z : point.y;
  const auto square = static_cast<long>(std::floor(u / side) + std::floor(v / side));
  const double stripes = 0.06 * std::sin(37 * u) * std::sin(29 * v);
  return (square % 2 == 0 ? 1.0 : 0.72) + stripes;
}

Vec shade(Vec from, Vec ray) {
  Hit nearest = cross_box(kRoom, from, ray).leave;
  const Box* seen = &kRoom;
  for (const Box& thing : kThings) {
    const Crossing crossing = cross_box(thing, from, ray);
    const bool met = crossing.enter.distance < crossing.leave.distance && crossing.enter.distance > 0;
    if (met && crossing.enter.distance < nearest.distance) {
      nearest = crossing.enter;
      seen = &thing;
    }
  }
  const Vec point = from + nearest.distance * ray;
  constexpr std::array<double, 3> kLight = {0.80, 1.00, 0.90};  // for surfaces across x, y and z
  const double fading = 1 / (1 + 0.004 * dot(point - from, point - from));
  const bool floor = seen == &kRoom && nearest.axis == 1 && point.y > -1;
  const double side = seen == &kRoom ? 0.5 : 0.2;
  const double light = kLight[static_cast<std::size_t>(nearest.axis)] * fading * pattern(point, nearest.axis, side);
  return light * (floor ? Vec{0.62, 0.55, 0.48} : seen->color);
}

/// One frame: the camera walks an arc and keeps its eyes on the things.
Image draw(double progress) {
  const double angle = (progress - 0.5) * 1.2;
  const Vec centre{2.2 * std::sin(angle), -1.25 - 0.15 * std::sin(3 * angle), -2.2 + 0.8 * (1 - std::cos(angle))};
  const Vec forward = normalised(Vec{0, -0.55, 1.8} - centre);
  const Vec right = normalised(cross(Vec{0, 1, 0}, forward));
  const Vec down = cross(forward, right);

  Image image(kWidth, kHeight);
  std::size_t at = 0;
  for (int v = 0; v < kHeight; ++v) {
    for (int u = 0; u < kWidth; ++u) {
      const double x = (u + 0.5 - kWidth / 2.0) / kFocal;
      const double y = (v + 0.5 - kHeight / 2.0) / kFocal;
      const Vec color = shade(centre, forward + x * right + y * down);
      for (int c = 0; c < 3; ++c) {
        image.pixels[at++] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(color[c], 0.0, 1.0)));
      }
    }
  }
  return image;
}

std::filesystem::path file_name(int frame) {
  std::string number = std::to_string(frame);
  return std::string(6 - number.size(), '0') + number + ".png";
}

}  // namespace

int main(int argc, char** argv) {
  const int frames = argc == 3 ? std::atoi(argv[2]) : 24;
  if (argc < 2 || argc > 3 || frames < 1 || frames > kMostFrames) {
    std::fprintf(stderr, "usage: make_example_frames FOLDER [FRAMES, 1 to %d]\n", kMostFrames);
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    for (int i = 0; i < frames; ++i) {
      write_png(folder / file_name(i), draw(frames > 1 ? i / (frames - 1.0) : 0.5));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_example_frames: error: %s\n", error.what());
    return 1;
  }
  std::printf("%d frames of %d x %d in %s\n", frames, kWidth, kHeight, argv[1]);
  return 0;
}
