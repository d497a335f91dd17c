#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "test_tensor.hpp"

namespace lingbot_map::test {

/// The nearest number of a type.
inline float rounded_to(DType dtype, float value) {
  if (dtype == DType::bf16) return static_cast<float>(bf16(value));
  if (dtype == DType::f16) return half_to_float(float_to_half(value));
  return value;
}

/// A product's sums in double precision, and how far float32 sums may be from them.
struct Sums {
  std::vector<double> values;
  std::vector<double> tolerances;
};

/// x [rows, in] W^T + bias with operands rounded to `dtype`, W [out, in]; bias may be empty.
inline Sums product_reference(std::span<const float> x, std::span<const float> weights, std::span<const float> bias,
                              std::int64_t rows, std::int64_t in, std::int64_t out, DType dtype) {
  const auto doubles = [&](std::span<const float> values) {
    std::vector<double> wide(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) wide[i] = rounded_to(dtype, values[i]);
    return wide;
  };
  const std::vector<double> a = doubles(x);
  const std::vector<double> b = doubles(weights);
  Sums sums;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < out; ++c) {
      double sum = bias.empty() ? 0 : static_cast<double>(bias[static_cast<std::size_t>(c)]);
      double magnitude = std::abs(sum);
      const double* p = a.data() + r * in;
      const double* q = b.data() + c * in;
      for (std::int64_t i = 0; i < in; ++i) {
        sum += p[i] * q[i];
        magnitude += std::abs(p[i] * q[i]);
      }
      sums.values.push_back(sum);
      sums.tolerances.push_back(rounding_of_sum(in) * magnitude);
    }
  }
  return sums;
}

inline double gelu(double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }

/// activation(sums) of `before`, what the target of type `dtype` held. Of float32 sums, an activation adds its own
/// error.
inline Sums activated(Sums sums, Activation activation, const std::vector<float>& before, DType dtype) {
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    double& value = sums.values[i];
    double& tolerance = sums.tolerances[i];
    if (activation == Activation::gelu) {
      tolerance = 1.2 * tolerance + 8 * kUnit * std::abs(value);  // gelu is nowhere steeper than 1.13
      value = gelu(value);
    } else if (activation == Activation::relu) {
      value = std::max(value, 0.0);
    } else if (activation == Activation::add_to_target) {
      value += before[i];
      tolerance += kUnit * std::abs(value);
    }
    tolerance += storage_error(dtype, value);
  }
  return sums;
}

/// Expects every element of `y` to be within its tolerance.
inline void expect_sums(const TestTensor& y, const Sums& expected, const std::string& what) {
  expect_close(
      y, expected.values, [&](std::int64_t i) { return expected.tolerances[static_cast<std::size_t>(i)]; }, what);
  EXPECT_TRUE(y.intact()) << what << ": wrote beside the rows";
}

/// Expects `y` to be activation(sums) of `before`, what y held.
inline void expect_activated(const TestTensor& y, const Sums& sums, Activation activation,
                             const std::vector<float>& before, const std::string& what) {
  expect_sums(y, activated(sums, activation, before, y.view().dtype()), what);
}

/// Rows to mean 0 and variance 1, before weight and bias. The mean is a float32 sum, which is off by a part of the
/// rows' magnitude, and so are the centred values; the variance is one of their squares.
inline Sums normalise(const TestTensor& x, double epsilon) {
  const std::int64_t width = x.view().dim(1);
  Sums result;
  for (std::int64_t row = 0; row < x.view().dim(0); ++row) {
    double mean = 0;
    double magnitude = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      mean += x[row * width + i];
      magnitude += std::abs(x[row * width + i]);
    }
    mean /= static_cast<double>(width);
    magnitude /= static_cast<double>(width);
    double variance = 0;
    for (std::int64_t i = 0; i < width; ++i) variance += std::pow(x[row * width + i] - mean, 2);
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(width) + epsilon);
    for (std::int64_t i = 0; i < width; ++i) {
      const double value = (x[row * width + i] - mean) * inverse;
      result.values.push_back(value);
      result.tolerances.push_back(rounding_of_sum(width) * (magnitude * inverse + std::abs(value)));
    }
  }
  return result;
}

/// layer_norm() of these rows with values stored in `dtype`.
inline Sums layer_norm_reference(const TestTensor& x, std::span<const float> weight, std::span<const float> bias,
                                 double epsilon, DType dtype) {
  Sums expected = normalise(x, epsilon);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const std::size_t c = i % weight.size();
    expected.values[i] = expected.values[i] * weight[c] + bias[c];
    expected.tolerances[i] = expected.tolerances[i] * std::abs(weight[c]) + 2 * kUnit * std::abs(expected.values[i]) +
                             2 * kUnit * std::abs(bias[c]) + storage_error(dtype, expected.values[i]);
  }
  return expected;
}

/// modulate() of x by modulation.
inline Sums modulate_reference(const TestTensor& x, const TestTensor& modulation) {
  const std::int64_t width = x.view().dim(1);
  Sums expected = normalise(x, 1e-6);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t start = i / width * 3 * width + i % width;
    const double shift = modulation[start];
    const double scale = modulation[start + width];
    const double gate = modulation[start + 2 * width];
    const double inner = expected.values[at] * (1 + scale);
    expected.tolerances[at] =
        std::abs(gate) * (expected.tolerances[at] * (1 + scale) + 4 * kUnit * (std::abs(inner) + std::abs(shift))) +
        2 * kUnit * std::abs(x[i]);
    expected.values[at] = x[i] + gate * (inner + shift);
  }
  return expected;
}

/// Weights and bias of a product as a back end takes them.
inline Linear make_linear(Backend& backend, std::span<const float> weights, std::span<const float> bias,
                          std::int64_t out, std::int64_t in, DType dtype) {
  return {.weight = backend.pack(weights, out, in, precision_of(dtype)),
          .bias = bias.empty() ? Buffer() : buffer_of(bias)};
}

}  // namespace lingbot_map::test
