#include "model/positions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lingbot_map {
namespace {

double cubic(double t) {
  t = std::abs(t);
  if (t < 1) return (1.5 * t - 2.5) * t * t + 1;
  if (t < 2) return ((-0.5 * t + 2.5) * t - 4) * t + 2;
  return 0;
}

/// Which inputs an output of a resized axis sums, and how much of each.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

Taps taps_of(std::int64_t index, std::int64_t in, std::int64_t out) {
  if (in == out) return {index, {1.0}};
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(ratio, 1.0);
  const double centre = ratio * (static_cast<double>(index) + 0.5);
  const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(centre - 2 * support + 0.5)), 0);
  const auto end = std::min<std::int64_t>(static_cast<std::int64_t>(std::floor(centre + 2 * support + 0.5)), in);
  Taps taps{first, {}};
  double total = 0;
  for (std::int64_t k = first; k < end; ++k) {
    taps.weights.push_back(cubic((static_cast<double>(k) - centre + 0.5) / support));
    total += taps.weights.back();
  }
  for (double& weight : taps.weights) weight /= total;
  return taps;
}

/// Resizes the middle axis of [outer, in, inner].
std::vector<float> resize_axis(std::span<const float> x, std::int64_t outer, std::int64_t in, std::int64_t inner,
                               std::int64_t out) {
  std::vector<float> y(static_cast<std::size_t>(outer * out * inner));
  for (std::int64_t o = 0; o < out; ++o) {
    const Taps taps = taps_of(o, in, out);
    for (std::int64_t block = 0; block < outer; ++block) {
      for (std::int64_t i = 0; i < inner; ++i) {
        double total = 0;
        for (std::size_t k = 0; k < taps.weights.size(); ++k) {
          total += taps.weights[k] *
                   x[static_cast<std::size_t>((block * in + taps.first + static_cast<std::int64_t>(k)) * inner + i)];
        }
        y[static_cast<std::size_t>((block * out + o) * inner + i)] = static_cast<float>(total);
      }
    }
  }
  return y;
}

void push_angle(std::vector<float>& table, double angle) {
  table.push_back(static_cast<float>(std::cos(angle)));
  table.push_back(static_cast<float>(std::sin(angle)));
}

/// Pairs of one axis: position * theta^(-2i / dims) for i below dims / 2.
void push_axis(std::vector<float>& table, double position, double theta, int dims) {
  for (int i = 0; i < dims / 2; ++i) push_angle(table, position * std::pow(theta, -2.0 * i / dims));
}

/// Row and column of every token: special token s at `special(s)` in both, patch (r, c) at (first + r, first + c).
template <typename Special>
std::vector<std::pair<double, double>> token_places(const FrameGrid& grid, std::int64_t first, const Special& special) {
  std::vector<std::pair<double, double>> places;
  for (std::int64_t s = 0; s < grid.specials; ++s) places.emplace_back(special(s), special(s));
  for (std::int64_t r = 0; r < grid.rows; ++r) {
    for (std::int64_t c = 0; c < grid.columns; ++c) places.emplace_back(first + r, first + c);
  }
  return places;
}

constexpr double kTheta2d = 100;
constexpr double kTheta3d = 10000;

}  // namespace

std::vector<float> resize_positions(std::span<const float> trained, std::int64_t grid, std::int64_t width,
                                    std::int64_t rows, std::int64_t columns) {
  check(trained.size() == static_cast<std::size_t>(grid * grid * width), "a position grid of ", trained.size(),
        " values");
  const std::vector<float> across = resize_axis(trained, grid, grid, width, columns);
  return resize_axis(across, 1, grid, columns * width, rows);
}

PositionCode position_code(std::int64_t map_width, std::int64_t map_height, std::int64_t channels, double aspect) {
  const double diagonal = std::sqrt(aspect * aspect + 1);
  const auto axis = [&](std::int64_t size, double span) {
    const std::int64_t frequencies = channels / 4;
    const double edge = span * static_cast<double>(size - 1) / static_cast<double>(size);
    std::vector<float> code;
    code.reserve(static_cast<std::size_t>(size * channels / 2));
    for (std::int64_t i = 0; i < size; ++i) {
      const double position =
          size > 1 ? edge * (2.0 * static_cast<double>(i) / static_cast<double>(size - 1) - 1) : -edge;
      const auto angle = [&](std::int64_t j) {
        return position * std::pow(100.0, -static_cast<double>(j) / static_cast<double>(frequencies));
      };
      for (std::int64_t j = 0; j < frequencies; ++j) code.push_back(static_cast<float>(std::sin(angle(j))) * 0.1F);
      for (std::int64_t j = 0; j < frequencies; ++j) code.push_back(static_cast<float>(std::cos(angle(j))) * 0.1F);
    }
    return code;
  };
  return {axis(map_width, aspect / diagonal), axis(map_height, 1 / diagonal)};
}

std::vector<float> rotary_2d(const FrameGrid& grid) {
  std::vector<float> table;
  for (const auto& [row, column] : token_places(grid, 1, [](std::int64_t) { return 0; })) {
    push_axis(table, row, kTheta2d, 32);
    push_axis(table, column, kTheta2d, 32);
  }
  return table;
}

std::vector<float> rotary_3d_spatial(const FrameGrid& grid) {
  std::vector<float> table;
  for (const auto& [row, column] : token_places(grid, grid.specials, [](std::int64_t s) { return s; })) {
    push_axis(table, row, kTheta3d, 22);
    push_axis(table, column, kTheta3d, 22);
  }
  return table;
}

std::vector<float> rotary_3d_temporal(std::int64_t first, std::int64_t count) {
  std::vector<float> table;
  for (std::int64_t frame = first; frame < first + count; ++frame)
    push_axis(table, static_cast<double>(frame), kTheta3d, 20);
  return table;
}

std::vector<float> rotary_camera(std::int64_t first, std::int64_t count) {
  std::vector<float> table;
  for (std::int64_t frame = first; frame < first + count; ++frame) {
    push_axis(table, static_cast<double>(frame), kTheta3d, 40);
    for (int i = 0; i < 44; ++i) push_angle(table, 0);
  }
  return table;
}

}  // namespace lingbot_map
