#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/bf16.hpp"
#include "tensor/buffer.hpp"

namespace lingbot_map::test {

/// Half the distance from 1 to the next float32: the relative error of one rounded operation.
constexpr double kUnit = 0x1p-24;
/// The same for bfloat16 and binary16.
constexpr double kUnitBf16 = 0x1p-8;
constexpr double kUnitF16 = 0x1p-11;

/// How far a value may be from what a type holds of it: nothing for float32, whose roundings are counted elsewhere.
inline double storage_error(DType dtype, double value) {
  if (dtype == DType::bf16) return kUnitBf16 * std::abs(value);
  if (dtype == DType::f16) return std::max(kUnitF16 * std::abs(value), 0x1p-25);  // half a subnormal step
  return 0;
}

/// What `n` float32 roundings add up to, relative to the sum of the magnitudes: errors of either sign grow with the
/// square root of their number, and 6 standard deviations are never seen.
inline double rounding_of_sum(std::int64_t n) { return 6 * std::sqrt(static_cast<double>(n) + 1) * kUnit; }

/// Numbers that are the same on every machine.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// Uniform in [low, high).
  float operator()(float low = -1, float high = 1) {
    return low + (high - low) * static_cast<float>(engine_() >> 8U) * 0x1p-24F;
  }
  /// Uniform in [low, high].
  int integer(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint32_t>(high - low + 1));
  }

 private:
  std::mt19937 engine_;
};

/// A float32, bf16 or f16 tensor with its memory. A matrix may have its rows `gap` elements further apart than they are
/// long. What lies around the rows is NaN: whoever reads it, sees it; whoever writes there, is seen by `intact`.
class TestTensor {
 public:
  TestTensor(DType dtype, std::initializer_list<std::int64_t> shape, std::int64_t gap = 0) {
    const Tensor plain(nullptr, dtype, shape);
    const std::int64_t rows = plain.dim(0);
    const std::int64_t stride = plain.row_elements() + gap;
    buffer_ = Buffer::allocate_cpu(static_cast<std::size_t>(2 * kMargin + rows * stride) * size_of(dtype));
    std::memset(buffer_.data(), 0xff, buffer_.bytes());
    void* const start = static_cast<std::byte*>(buffer_.data()) + kMargin * size_of(dtype);
    view_ =
        gap == 0 ? Tensor(start, dtype, shape) : Tensor(start, dtype, {rows, stride}).columns(gap / 2, plain.dim(1));
    for (std::int64_t i = 0; i < view_.elements(); ++i) set(i, 0);
  }

  [[nodiscard]] const Tensor& view() const noexcept { return view_; }
  operator const Tensor&() const noexcept { return view_; }
  [[nodiscard]] std::int64_t elements() const noexcept { return view_.elements(); }

  /// Element `index`, counted row by row without the gaps.
  [[nodiscard]] float operator[](std::int64_t index) const {
    switch (view_.dtype()) {
      case DType::bf16: return static_cast<float>(view_.data<bf16>()[place(index)]);
      case DType::f16: return half_to_float(view_.data<std::uint16_t>()[place(index)]);
      default: return view_.data<float>()[place(index)];
    }
  }
  void set(std::int64_t index, float value) {
    switch (view_.dtype()) {
      case DType::bf16: view_.data<bf16>()[place(index)] = bf16(value); break;
      case DType::f16: view_.data<std::uint16_t>()[place(index)] = float_to_half(value); break;
      default: view_.data<float>()[place(index)] = value;
    }
  }
  TestTensor& fill(Random& random, float low = -1, float high = 1) {
    for (std::int64_t i = 0; i < elements(); ++i) set(i, random(low, high));
    return *this;
  }
  TestTensor& fill(float value) {
    for (std::int64_t i = 0; i < elements(); ++i) set(i, value);
    return *this;
  }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> values(static_cast<std::size_t>(elements()));
    for (std::int64_t i = 0; i < elements(); ++i) values[static_cast<std::size_t>(i)] = (*this)[i];
    return values;
  }

  /// All of the memory, what lies around the rows included.
  [[nodiscard]] std::span<std::byte> memory() const {
    return {static_cast<std::byte*>(buffer_.data()), buffer_.bytes()};
  }

  /// Whether nothing was written around the rows.
  [[nodiscard]] bool intact() const {
    const std::size_t size = size_of(view_.dtype());
    const auto* bytes = static_cast<const unsigned char*>(buffer_.data());
    const auto first = static_cast<std::size_t>(static_cast<const unsigned char*>(view_.raw()) - bytes);
    std::size_t at = 0;
    const auto untouched = [&](std::size_t end) {
      return std::all_of(bytes + at, bytes + end, [](unsigned char b) { return b == 0xff; });
    };
    for (std::int64_t row = 0; row < view_.dim(0); ++row) {
      const std::size_t start = first + static_cast<std::size_t>(row * view_.row_stride()) * size;
      if (!untouched(start)) return false;
      at = start + static_cast<std::size_t>(view_.row_elements()) * size;
    }
    return untouched(buffer_.bytes());
  }

 private:
  static constexpr std::int64_t kMargin = 64;
  [[nodiscard]] std::int64_t place(std::int64_t index) const {
    return index / view_.row_elements() * view_.row_stride() + index % view_.row_elements();
  }

  Buffer buffer_;
  Tensor view_;
};

/// Expects |actual[i] - expected[i]| <= tolerance(i) for every i; NaN is never close. Tells of the worst one.
template <typename Actual, typename Tolerance>
void expect_close(const Actual& actual, const std::vector<double>& expected, const Tolerance& tolerance,
                  const std::string& what) {
  double worst = 0;
  std::int64_t at = -1;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(expected.size()); ++i) {
    const double error = std::abs(static_cast<double>(actual[i]) - expected[static_cast<std::size_t>(i)]);
    const double share = error <= tolerance(i) ? (error > 0 ? error / tolerance(i) : 0) : HUGE_VAL;
    if (share > worst) {
      worst = share;
      at = i;
    }
  }
  EXPECT_LE(worst, 1) << what << ": element " << at << " is " << actual[at] << ", expected "
                      << expected[static_cast<std::size_t>(at)] << " within " << tolerance(at);
}

/// Whether two tensors hold the same bits.
inline bool same_bits(const TestTensor& a, const TestTensor& b) {
  const std::vector<float> x = a.values();
  const std::vector<float> y = b.values();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

/// A Buffer that holds these numbers.
inline Buffer buffer_of(std::span<const float> values) {
  Buffer buffer = Buffer::allocate_cpu(values.size_bytes());
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size_bytes());
  return buffer;
}

inline std::vector<float> random_values(Random& random, std::int64_t count, float low = -1, float high = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = random(low, high);
  return values;
}

}  // namespace lingbot_map::test
