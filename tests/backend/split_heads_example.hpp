#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/reference.hpp"

namespace lingbot_map::test {

enum class Turning { none, half_split, interleaved };

/// One way of splitting heads.
struct HeadCase {
  const char* name;
  std::int64_t frames;
  std::int64_t tokens;
  std::int64_t specials;
  int heads;
  int head_dim;
  bool normalised;
  Turning turning;
  std::int64_t temporal_pairs;
  bool one_spatial_row = false;
};
inline constexpr HeadCase kHeadCases[] = {
    {"encoder", 2, 9, 0, 2, 64, false, Turning::none, 0},
    {"frame block", 3, 11, 0, 2, 64, true, Turning::half_split, 0},
    {"global block", 3, 13, 6, 2, 64, true, Turning::interleaved, 10},
    {"global block of one frame", 1, 40, 6, 3, 64, true, Turning::interleaved, 10},
    {"camera block", 1, 5, 0, 2, 128, false, Turning::interleaved, 0},
    {"one row for every token", 2, 7, 6, 1, 32, true, Turning::half_split, 0, true},
    {"angles of the frame alone", 4, 3, 1, 2, 32, true, Turning::interleaved, 16},
    {"temporal and half-split", 2, 8, 2, 1, 96, true, Turning::half_split, 16},
    {"special tokens alone", 2, 6, 6, 1, 64, true, Turning::interleaved, 10},
    {"narrow heads", 2, 4, 0, 3, 10, true, Turning::interleaved, 2},
    {"norm alone", 1, 33, 0, 1, 40, true, Turning::none, 0},
};

/// Angles, norms and the reference of one case.
class HeadExample {
 public:
  explicit HeadExample(const HeadCase& c)
      : c_(c),
        qkv(DType::f32, {c.frames * c.tokens, 3 * width()}, 8),
        temporal(DType::f32, {c.frames, std::max<std::int64_t>(c.temporal_pairs, 1), 2}),
        spatial(DType::f32, {c.one_spatial_row ? 1 : c.tokens, std::max<std::int64_t>(spatial_pairs(), 1), 2}) {
    Random random(static_cast<std::uint32_t>(c.tokens * 100 + c.head_dim));
    qkv.fill(random, -2, 2);
    for (Norms* norms : {&q, &k}) {
      norms->weight = random_values(random, c.head_dim);
      norms->bias = random_values(random, c.head_dim);
      norms->norm = {.weight = buffer_of(norms->weight), .bias = buffer_of(norms->bias), .epsilon = 1e-5F};
    }
    for (TestTensor* angles : {&temporal, &spatial}) {
      for (std::int64_t pair = 0; pair < angles->elements() / 2; ++pair) {
        const double angle = random(-3, 3);
        angles->set(2 * pair, static_cast<float>(std::cos(angle)));
        angles->set(2 * pair + 1, static_cast<float>(std::sin(angle)));
      }
    }
  }

  [[nodiscard]] std::int64_t width() const { return std::int64_t{c_.heads} * c_.head_dim; }
  [[nodiscard]] std::int64_t spatial_pairs() const {
    return c_.turning == Turning::none ? 0 : c_.head_dim / 2 - c_.temporal_pairs;
  }
  [[nodiscard]] HeadSplit split() const {
    HeadSplit split;
    split.heads = c_.heads;
    split.head_dim = c_.head_dim;
    if (c_.normalised) {
      split.q_norm = &q.norm;
      split.k_norm = &k.norm;
    }
    if (c_.temporal_pairs > 0) split.rotary.temporal = temporal;
    if (spatial_pairs() > 0) split.rotary.spatial = spatial;
    split.rotary.interleaved = c_.turning == Turning::interleaved;
    return split;
  }

  /// Part 0, 1 or 2 (q, k, v) of a row, as it should be stored.
  [[nodiscard]] Sums expected(std::int64_t row, int part, DType dtype) const {
    Sums result;
    for (int head = 0; head < c_.heads; ++head) {
      std::vector<double> x;
      for (int i = 0; i < c_.head_dim; ++i)
        x.push_back(qkv[row * 3 * width() + part * width() + head * c_.head_dim + i]);
      std::vector<double> tolerance(x.size(), 0);
      if (part < 2 && c_.normalised) normalise(x, tolerance, part == 0 ? q : k);
      if (part < 2 && c_.turning != Turning::none) turn(x, tolerance, row / c_.tokens, row % c_.tokens);
      for (std::size_t i = 0; i < x.size(); ++i) {
        result.values.push_back(x[i]);
        result.tolerances.push_back(tolerance[i] + storage_error(dtype, x[i]));
      }
    }
    return result;
  }

  HeadCase c_;
  TestTensor qkv;
  TestTensor temporal;
  TestTensor spatial;
  struct Norms {
    std::vector<float> weight;
    std::vector<float> bias;
    Norm norm;
  };
  Norms q;
  Norms k;

 private:
  static void normalise(std::vector<double>& x, std::vector<double>& tolerance, const Norms& norms) {
    const auto n = static_cast<double>(x.size());
    double mean = 0;
    for (const double value : x) mean += value / n;
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) * inverse * norms.weight[i] + norms.bias[i];
      // |x| is at most 2: what a sum of them is off by, over the deviation.
      tolerance[i] = rounding_of_sum(static_cast<std::int64_t>(n)) * (2 * inverse + std::abs(x[i]) + 1);
    }
  }

  void turn(std::vector<double>& x, std::vector<double>& tolerance, std::int64_t frame, std::int64_t token) const {
    const std::vector<double> before = x;
    const std::vector<double> error = tolerance;
    for (std::int64_t j = 0; j < c_.head_dim / 2; ++j) {
      const bool of_frame = j < c_.temporal_pairs;
      const TestTensor& table = of_frame ? temporal : spatial;
      const std::int64_t pairs = of_frame ? c_.temporal_pairs : spatial_pairs();
      const std::int64_t row = of_frame ? frame : c_.one_spatial_row ? 0 : token;
      const std::int64_t place = 2 * (row * pairs + j - (of_frame ? 0 : c_.temporal_pairs));
      const double c = table[place];
      const double s = table[place + 1];
      const bool adjacent = c_.turning == Turning::interleaved;
      const auto first = static_cast<std::size_t>(adjacent ? 2 * j : j / 16 * 32 + j % 16);
      const std::size_t second = first + (adjacent ? 1 : 16);
      x[first] = before[first] * c - before[second] * s;
      x[second] = before[first] * s + before[second] * c;
      const double most = std::abs(before[first]) + std::abs(before[second]);
      tolerance[first] = tolerance[second] = error[first] + error[second] + 2 * kUnit * most;
    }
  }
};

/// Places [frames, 2] as split_heads() reads them.
inline Tensor view_of(std::vector<std::int64_t>& places) {
  return {places.data(), DType::i64, {static_cast<std::int64_t>(places.size()) / 2, 2}};
}

}  // namespace lingbot_map::test
