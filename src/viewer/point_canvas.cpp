#include "viewer/point_canvas.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace lingbot_map {
namespace {

constexpr double kNearest = 1e-6;      ///< depth in front of which nothing is drawn
constexpr double kLineBias = 0.995;    ///< lines on a surface are not hidden by it
constexpr double kShineThrough = 0.2;  ///< share of a hidden line's colour

View finer(View view, int factor) {
  view.width *= factor;
  view.height *= factor;
  view.intrinsics.fx *= factor;
  view.intrinsics.fy *= factor;
  view.intrinsics.cx *= factor;
  view.intrinsics.cy *= factor;
  return view;
}

Colour mixed(const Colour& a, const Colour& b, double share_of_b) {
  Colour colour{};
  for (std::size_t c = 0; c < 3; ++c)
    colour[c] = static_cast<std::uint8_t>(std::lround(a[c] + share_of_b * (b[c] - a[c])));
  return colour;
}

Vec3 between(const Vec3& a, const Vec3& b, double share_of_b) {
  Vec3 point{};
  for (std::size_t i = 0; i < 3; ++i) point[i] = a[i] + share_of_b * (b[i] - a[i]);
  return point;
}

/// Shares of the way from one end of a line to the other.
struct Range {
  double first = 0;
  double last = 1;
};

/// Where a coordinate that goes evenly from `from` to `to` lies within [-margin, end + margin].
Range clip(double from, double to, double end, double margin) {
  const double way = to - from;
  if (way == 0) return from < -margin || from > end + margin ? Range{1, 0} : Range{0, 1};
  const double at_start = (-margin - from) / way;
  const double at_end = (end + margin - from) / way;
  return {std::max(0.0, std::min(at_start, at_end)), std::min(1.0, std::max(at_start, at_end))};
}

Range meeting(const Range& a, const Range& b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }

}  // namespace

PointCanvas::PointCanvas(const View& view, const Colour& background) : view_(finer(view, kFiner)) {
  const std::size_t pixels = static_cast<std::size_t>(view_.width) * static_cast<std::size_t>(view_.height);
  depth_.assign(pixels, std::numeric_limits<float>::infinity());
  colour_.assign(pixels, background);
  lined_.assign(pixels, false);
}

template <typename Action>
void PointCanvas::for_disc(double u, double v, double radius, const Action& action) const {
  const auto limited = [](double value, int end) { return static_cast<int>(std::clamp(value, 0.0, double(end))); };
  const int first_row = limited(std::ceil(v - radius - 0.5), view_.height);
  const int end_row = limited(std::floor(v + radius - 0.5) + 1, view_.height);
  const int first_column = limited(std::ceil(u - radius - 0.5), view_.width);
  const int end_column = limited(std::floor(u + radius - 0.5) + 1, view_.width);
  for (int row = first_row; row < end_row; ++row)
    for (int column = first_column; column < end_column; ++column)
      if (std::hypot(column + 0.5 - u, row + 0.5 - v) <= radius)
        action(static_cast<std::size_t>(row) * static_cast<std::size_t>(view_.width) +
               static_cast<std::size_t>(column));
}

void PointCanvas::draw_point(const Vec3& world_point, double radius_pixels, const Colour& colour) {
  const Vec3 point = in_camera(world_point);
  if (!(point[2] > kNearest)) return;
  const Intrinsics& camera = view_.intrinsics;
  const auto depth = static_cast<float>(point[2]);
  for_disc(camera.fx * point[0] / point[2] + camera.cx, camera.fy * point[1] / point[2] + camera.cy,
           std::max(radius_pixels * kFiner, 0.71), [&](std::size_t pixel) {
             if (depth >= depth_[pixel]) return;
             depth_[pixel] = depth;
             colour_[pixel] = colour;
           });
}

void PointCanvas::shade_edges(double strength) {
  constexpr int kReach = kFiner;
  const auto width = static_cast<std::ptrdiff_t>(view_.width);
  for (int row = kReach; row < view_.height - kReach; ++row)
    for (int column = kReach; column < view_.width - kReach; ++column) {
      const std::ptrdiff_t pixel = row * width + column;
      const float here = depth_[static_cast<std::size_t>(pixel)];
      if (!std::isfinite(here)) continue;
      double nearer = 0;
      for (const std::ptrdiff_t step :
           {-width * kReach, width * kReach, std::ptrdiff_t{-kReach}, std::ptrdiff_t{kReach}})
        nearer += std::max(0.0, std::log2(double{here} / depth_[static_cast<std::size_t>(pixel + step)]));
      const double light = std::exp(-strength * nearer / 4);
      for (std::uint8_t& value : colour_[static_cast<std::size_t>(pixel)])
        value = static_cast<std::uint8_t>(std::lround(value * light));
    }
}

void PointCanvas::draw_line(const Vec3& world_from, const Vec3& world_to, double width_pixels, const Colour& colour) {
  Vec3 from = in_camera(world_from);
  Vec3 to = in_camera(world_to);
  if (!(from[2] > kNearest || to[2] > kNearest)) return;
  if (from[2] <= kNearest) from = between(to, from, (to[2] - 2 * kNearest) / (to[2] - from[2]));
  if (to[2] <= kNearest) to = between(from, to, (from[2] - 2 * kNearest) / (from[2] - to[2]));

  const Intrinsics& camera = view_.intrinsics;
  const auto u_of = [&](const Vec3& p) { return camera.fx * p[0] / p[2] + camera.cx; };
  const auto v_of = [&](const Vec3& p) { return camera.fy * p[1] / p[2] + camera.cy; };
  const double radius = std::max(width_pixels * kFiner / 2, 0.71);
  const auto [first, last] =
      meeting(clip(u_of(from), u_of(to), view_.width, radius), clip(v_of(from), v_of(to), view_.height, radius));
  if (!(first <= last)) return;
  const double length = (last - first) * std::hypot(u_of(to) - u_of(from), v_of(to) - v_of(from));
  const int steps = static_cast<int>(std::max(length, 1.0));
  for (int i = 0; i <= steps; ++i) {
    const double share = first + (last - first) * i / steps;
    // Steps are even in the picture, so depth is the harmonic mean.
    const double depth = 1 / ((1 - share) / from[2] + share / to[2]);
    for_disc((1 - share) * u_of(from) + share * u_of(to), (1 - share) * v_of(from) + share * v_of(to), radius,
             [&](std::size_t pixel) {
               if (depth * kLineBias <= depth_[pixel]) {
                 depth_[pixel] = std::min(depth_[pixel], static_cast<float>(depth));
                 colour_[pixel] = colour;
               } else if (!lined_[pixel]) {
                 lined_[pixel] = true;
                 colour_[pixel] = mixed(colour_[pixel], colour, kShineThrough);
               }
             });
  }
}

Image PointCanvas::image() const {
  Image image(view_.width / kFiner, view_.height / kFiner);
  for (int row = 0; row < image.height; ++row)
    for (int column = 0; column < image.width; ++column)
      for (std::size_t c = 0; c < 3; ++c) {
        int sum = kFiner * kFiner / 2;
        for (int dy = 0; dy < kFiner; ++dy)
          for (int dx = 0; dx < kFiner; ++dx)
            sum += colour_[static_cast<std::size_t>(row * kFiner + dy) * static_cast<std::size_t>(view_.width) +
                           static_cast<std::size_t>(column * kFiner + dx)][c];
        image.pixels[3 * (static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) +
                          static_cast<std::size_t>(column)) +
                     c] = static_cast<std::uint8_t>(sum / (kFiner * kFiner));
      }
  return image;
}

}  // namespace lingbot_map
