#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "backend/reference.hpp"
#include "expect_error.hpp"
#include "test_tensor.hpp"

namespace lingbot_map::test {

/// What an exact float32 operation of a GPU may be from the truth, relative to the norm of all elements.
constexpr double kExactNorm = 1e-5;
/// A product's operands cut to TF32, relative to the sum of the magnitudes: both lose up to a unit of 2^-10.
constexpr double kTf32 = 0x1p-9;

/// ||actual - expected|| / ||expected||; NaN is far.
template <typename Actual>
double distance(const Actual& actual, const std::vector<double>& expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = actual[static_cast<std::int64_t>(i)];
    error += (value - expected[i]) * (value - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(norm > 0 ? error / norm : error);
}

inline std::string_view name_of(Precision precision) {
  return precision == Precision::tf32 ? "tf32" : name_of(storage_of(precision));
}

// ---- Memory of any back end ----------------------------------------------------------------------------------------

template <typename Value>
Buffer buffer_on(Backend& backend, const std::vector<Value>& values) {
  if (values.empty()) return {};
  const auto bytes = std::as_bytes(std::span(values));
  Buffer buffer = backend.allocate(bytes.size());
  backend.upload(bytes, buffer.view(DType::u8, {static_cast<std::int64_t>(bytes.size())}));
  return buffer;
}

inline Linear linear_on(Backend& backend, const std::vector<float>& weights, const std::vector<float>& bias,
                        std::int64_t out, std::int64_t in, Precision precision) {
  return {.weight = backend.pack(weights, out, in, precision), .bias = buffer_on(backend, bias)};
}

inline Norm norm_on(Backend& backend, const std::vector<float>& weight, const std::vector<float>& bias, float epsilon) {
  return {.weight = buffer_on(backend, weight), .bias = buffer_on(backend, bias), .epsilon = epsilon};
}

/// A view like `x` of other memory.
inline Tensor view_like(const Tensor& x, void* data, Device device) {
  switch (x.rank()) {
    case 1: return {data, x.dtype(), {x.dim(0)}, device};
    case 2: return Tensor(data, x.dtype(), {x.dim(0), x.row_stride()}, device).columns(0, x.dim(1));
    case 3: return {data, x.dtype(), {x.dim(0), x.dim(1), x.dim(2)}, device};
    default: return {data, x.dtype(), {x.dim(0), x.dim(1), x.dim(2), x.dim(3)}, device};
  }
}

/// A copy of a TestTensor on a GPU, what lies around its rows included.
class OnGpu {
 public:
  OnGpu(Backend& gpu, const TestTensor& host) : gpu_(&gpu), buffer_(gpu.allocate(host.memory().size())) {
    set(host);
    const auto offset = static_cast<const std::byte*>(host.view().raw()) - host.memory().data();
    view_ = view_like(host.view(), static_cast<std::byte*>(buffer_.data()) + offset, gpu.device());
  }

  [[nodiscard]] const Tensor& view() const noexcept { return view_; }
  operator const Tensor&() const noexcept { return view_; }

  /// Takes all of the memory of a tensor of the same kind again.
  void set(const TestTensor& host) const { gpu_->upload(host.memory(), whole()); }
  /// Gives all of the memory to a tensor of the same kind.
  void get(const TestTensor& host) const { gpu_->download(whole(), host.memory()); }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> bytes(buffer_.bytes());
    gpu_->download(whole(), bytes);
    return bytes;
  }

 private:
  [[nodiscard]] Tensor whole() const { return buffer_.view(DType::u8, {static_cast<std::int64_t>(buffer_.bytes())}); }

  Backend* gpu_;
  Buffer buffer_;
  Tensor view_;
};

/// Calls operation(outputs on the GPU...) twice from what `outputs` hold: both must leave the same bits, also around
/// the rows. Then `outputs` hold them.
template <typename Operation, std::same_as<TestTensor>... Outputs>
void run_on_gpu(Backend& gpu, const Operation& operation, const Outputs&... outputs) {
  const auto once = [&] {
    const std::array on_gpu = {OnGpu(gpu, outputs)...};
    std::apply([&](const auto&... output) { operation(output.view()...); }, on_gpu);
    std::vector<std::vector<std::byte>> bytes;
    for (const OnGpu& output : on_gpu) bytes.push_back(output.bytes());
    return bytes;
  };
  const std::vector<std::vector<std::byte>> first = once();
  EXPECT_TRUE(first == once()) << "other bits the second time";
  std::size_t index = 0;
  const auto take = [&](const TestTensor& output) {
    std::memcpy(output.memory().data(), first[index].data(), first[index].size());
    ++index;
  };
  (take(outputs), ...);
}

/// What Error(internal) an action throws.
template <typename Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal) << error.what();
    return error.what();
  }
  return "nothing was refused";
}

// ---- The test ------------------------------------------------------------------------------------------------------

/// A test of the first GPU against the CPU; skipped where no GPU can be used.
class Gpu : public testing::Test {
 public:
  static void SetUpTestSuite() {
    try {
      shared_ = std::make_unique<CudaBackend>(0);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      why_not_ = error.what();
    }
  }
  static void TearDownTestSuite() { shared_.reset(); }

 protected:
  void SetUp() override {
    if (shared_ == nullptr) GTEST_SKIP() << why_not_;
  }

  [[nodiscard]] static CudaBackend& gpu() { return *shared_; }

  /// Types of activations that the GPU has.
  [[nodiscard]] static std::vector<DType> types() {
    std::vector<DType> types;
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      if (gpu().supports(dtype)) types.push_back(dtype);
    }
    return types;
  }
  [[nodiscard]] static std::vector<Precision> precisions() {
    std::vector<Precision> precisions = {Precision::tf32};
    for (const DType dtype : types()) precisions.push_back(precision_of(dtype));
    return precisions;
  }

  /// Expects both back ends to refuse action(backend, tensors...) in the same words, of which `text` is a part.
  template <typename Action, std::same_as<TestTensor>... Tensors>
  void refuses(const char* text, const Action& action, const Tensors&... tensors) {
    Backend& on_cpu = cpu;
    Backend& on_gpu = gpu();
    const std::string expected = refusal_of([&] { action(on_cpu, tensors.view()...); });
    EXPECT_THAT(expected, testing::HasSubstr(text));
    EXPECT_EQ(refusal_of([&] { action(on_gpu, OnGpu(on_gpu, tensors).view()...); }), expected);
  }

  CpuBackend cpu{};

 private:
  static inline std::unique_ptr<CudaBackend> shared_;
  static inline std::string why_not_;
};

// ---- Products ------------------------------------------------------------------------------------------------------

/// How far a product of a precision may be from one of exact float32 sums, relative to the norm of all elements.
inline double norm_bound(Precision precision, DType stored) {
  const double storage = stored == DType::bf16 ? kUnitBf16 : stored == DType::f16 ? kUnitF16 : 0;
  return (precision == Precision::tf32 ? kTf32 : kExactNorm) + storage;
}

inline std::vector<float> rounded_to(DType dtype, std::vector<float> values) {
  for (float& value : values) value = rounded_to(dtype, value);
  return values;
}

inline std::vector<float> magnitudes_of(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

/// Sums that the CPU computes in float32 from operands that are rounded already, for sizes at which double precision
/// takes long: compute(x, weights, bias, y) is called for the sums and again for their magnitudes. Two float32 sums of
/// `terms` terms may each be off.
template <typename Compute>
Sums cpu_sums(const std::vector<float>& x, const std::vector<float>& weights, const std::vector<float>& bias,
              std::int64_t terms, Precision precision, const Compute& compute) {
  const std::vector<float> values = compute(x, weights, bias);
  const std::vector<float> magnitudes = compute(magnitudes_of(x), magnitudes_of(weights), magnitudes_of(bias));
  Sums sums;
  sums.values.assign(values.begin(), values.end());
  for (const float magnitude : magnitudes) {
    sums.tolerances.push_back((2 * rounding_of_sum(terms) + (precision == Precision::tf32 ? kTf32 : 0)) * magnitude);
  }
  return sums;
}

/// cpu_sums() of x [rows, in] W^T + bias, operands rounded to the precision's type.
inline Sums cpu_product(CpuBackend& cpu, const std::vector<float>& x, const std::vector<float>& weights,
                        const std::vector<float>& bias, std::int64_t rows, std::int64_t out, Precision precision) {
  const std::int64_t in = static_cast<std::int64_t>(x.size()) / rows;
  const DType dtype = storage_of(precision);
  const auto multiply = [&](std::vector<float> a, const std::vector<float>& b, const std::vector<float>& c) {
    std::vector<float> y(static_cast<std::size_t>(rows * out));
    cpu.linear(Tensor(a.data(), DType::f32, {rows, in}), linear_on(cpu, b, c, out, in, Precision::f32),
               Activation::none, Tensor(y.data(), DType::f32, {rows, out}));
    return y;
  };
  return cpu_sums(rounded_to(dtype, x), rounded_to(dtype, weights), bias, in, precision, multiply);
}

/// Expects `y` to be activation(sums) of `before`, every element and all of them together.
inline void expect_product(const TestTensor& y, const Sums& sums, Precision precision, Activation activation,
                           const std::vector<float>& before, const std::string& what) {
  constexpr std::size_t kEnough = 64;  // few elements may all be small differences of large numbers
  const DType stored = y.view().dtype();
  const Sums expected = activated(sums, activation, before, stored);
  expect_sums(y, expected, what);
  if (expected.values.size() >= kEnough) {
    EXPECT_LE(distance(y, expected.values), norm_bound(precision, stored)) << what;
  }
}

}  // namespace lingbot_map::test
