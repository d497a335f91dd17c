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
  return dtype == DType::bf16 ? static_cast<float>(bf16(value)) : value;
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

/// Expects `y` to be activation(sums) of `before`, what y held. Of float32 sums, an activation adds its own error.
inline void expect_activated(const TestTensor& y, const Sums& sums, Activation activation,
                             const std::vector<float>& before, const std::string& what) {
  std::vector<double> expected = sums.values;
  std::vector<double> tolerances = sums.tolerances;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double& value = expected[i];
    if (activation == Activation::gelu) {
      tolerances[i] = 1.2 * tolerances[i] + 8 * kUnit * std::abs(value);  // gelu is nowhere steeper than 1.13
      value = gelu(value);
    } else if (activation == Activation::relu) {
      value = std::max(value, 0.0);
    } else if (activation == Activation::add_to_target) {
      value += before[i];
      tolerances[i] += kUnit * std::abs(value);
    }
    if (y.view().dtype() == DType::bf16) tolerances[i] += kUnitBf16 * std::abs(value);
  }
  expect_close(
      y, expected, [&](std::int64_t i) { return tolerances[static_cast<std::size_t>(i)]; }, what);
  EXPECT_TRUE(y.intact()) << what << ": wrote beside the rows";
}

/// Weights and bias of a product as a back end takes them.
inline Linear make_linear(Backend& backend, std::span<const float> weights, std::span<const float> bias,
                          std::int64_t out, std::int64_t in, DType dtype) {
  return {.weight = backend.pack(weights, out, in, precision_of(dtype)),
          .bias = bias.empty() ? Buffer() : buffer_of(bias)};
}

}  // namespace lingbot_map::test
