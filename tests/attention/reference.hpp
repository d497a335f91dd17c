#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "test_tensor.hpp"

namespace lingbot_map::test {

/// One row of attention in double precision, and how far the arithmetic under test may be from it.
struct AttentionRow {
  std::vector<double> values;
  std::vector<double> tolerances;
};

/// What a kernel does beside rounding float32 sums.
struct AttentionErrors {
  double exponential = 0;  ///< relative, of one
};

/// softmax(q k^T / sqrt(d)) v in double precision, row by row.
///
/// A score is a float32 sum, off by what its length allows; that turns each probability by as much, relatively, and
/// so the result by twice that part of sum p |v|. The sums of p and p v add their own roundings. With a 16-bit type
/// each probability is rounded before it meets its value, and the result once more.
class AttentionReference {
 public:
  AttentionReference(const TestTensor& q, const TestTensor& k, const TestTensor& v, int heads,
                     const AttentionErrors& errors = {})
      : dtype_(q.view().dtype()),
        width_(q.view().dim(1)),
        d_(width_ / heads),
        errors_(errors),
        q_(q.values()),
        k_(k.values()),
        v_(v.values()) {
    check(d_ % static_cast<std::int64_t>(kLanes) == 0, "a reference for heads of ", d_);
  }

  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  [[nodiscard]] std::int64_t heads() const noexcept { return width_ / d_; }

  /// One query of one head; `key_rows` lists the rows of k and v that it sees.
  [[nodiscard]] AttentionRow row(std::int64_t query, std::int64_t head, std::span<const std::int64_t> key_rows) const {
    const double scale = 1 / std::sqrt(static_cast<double>(d_));
    const float* q = q_.data() + query * width_ + head * d_;
    std::vector<double> weights;
    weights.reserve(key_rows.size());
    double most = -HUGE_VAL;
    double most_magnitude = 0;
    for (const std::int64_t key : key_rows) {
      const float* k = k_.data() + key * width_ + head * d_;
      std::array<double, kLanes> dots{};
      std::array<double, kLanes> sizes{};
      for (std::int64_t i = 0; i < d_; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const double product =
              static_cast<double>(q[i + static_cast<std::int64_t>(lane)]) * k[i + static_cast<std::int64_t>(lane)];
          dots[lane] += product;
          sizes[lane] += std::abs(product);
        }
      }
      const double dot = std::accumulate(dots.begin(), dots.end(), 0.0);
      const double magnitude = std::accumulate(sizes.begin(), sizes.end(), 0.0);
      weights.push_back(dot * scale);
      most = std::max(most, weights.back());
      most_magnitude = std::max(most_magnitude, magnitude * scale);
    }
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - most);

    AttentionRow row{std::vector<double>(static_cast<std::size_t>(d_)),
                     std::vector<double>(static_cast<std::size_t>(d_))};
    float most_value = 0;
    for (std::size_t n = 0; n < key_rows.size(); ++n) {
      const float* v = v_.data() + key_rows[n] * width_ + head * d_;
      const double weight = weights[n] / total;
      for (std::size_t i = 0; i < row.values.size(); ++i) {
        row.values[i] += weight * v[i];
        row.tolerances[i] += std::abs(weight * v[i]);
      }
      if (dtype_ == DType::f16) {
        for (std::int64_t i = 0; i < d_; ++i) most_value = std::max(most_value, std::abs(v[i]));
      }
    }
    const auto keys = static_cast<std::int64_t>(key_rows.size());
    const double relative =
        2 * rounding_of_sum(d_ + 4) * most_magnitude + 2 * rounding_of_sum(keys) + 2 * errors_.exponential + unit();
    // binary16 has no small weights: each may be off by half a subnormal step.
    const double underflow = static_cast<double>(keys) * 0x1p-25 * most_value;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      row.tolerances[i] = relative * row.tolerances[i] + storage_error(dtype_, row.values[i]) + underflow;
    }
    return row;
  }

 private:
  static constexpr std::size_t kLanes = 8;  ///< sums side by side, which the processor takes at once
  [[nodiscard]] double unit() const noexcept {
    return dtype_ == DType::bf16 ? kUnitBf16 : dtype_ == DType::f16 ? kUnitF16 : 0;
  }

  DType dtype_;
  std::int64_t width_;
  std::int64_t d_;
  AttentionErrors errors_;
  std::vector<float> q_;
  std::vector<float> k_;
  std::vector<float> v_;
};

inline std::vector<std::int64_t> counted(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(first + i);
  return rows;
}

/// Expects rows of `out` to be those of attention over `key_rows`. Gives how far they are, relative to their norm.
inline double expect_attention(const TestTensor& out, std::int64_t first_query, std::int64_t queries,
                               const AttentionReference& reference, std::span<const std::int64_t> key_rows,
                               const std::string& what) {
  const std::int64_t d = reference.width() / reference.heads();
  double error = 0;
  double norm = 0;
  for (std::int64_t query = first_query; query < first_query + queries; ++query) {
    for (std::int64_t head = 0; head < reference.heads(); ++head) {
      const AttentionRow row = reference.row(query, head, key_rows);
      std::vector<float> got;
      for (std::int64_t i = 0; i < d; ++i) {
        got.push_back(out[query * reference.width() + head * d + i]);
        const double value = row.values[static_cast<std::size_t>(i)];
        error += (got.back() - value) * (got.back() - value);
        norm += value * value;
      }
      expect_close(
          got, row.values, [&](std::int64_t i) { return row.tolerances[static_cast<std::size_t>(i)]; },
          message(what, ", query ", query, ", head ", head));
    }
  }
  return std::sqrt(error / norm);
}

}  // namespace lingbot_map::test
