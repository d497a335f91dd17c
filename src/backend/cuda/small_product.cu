#include <algorithm>

#include "backend/cuda/check.hpp"
#include "backend/cuda/kernels.hpp"
#include "backend/cuda/types.cuh"

namespace lingbot_map::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kOutputs = 2;  ///< of a warp: halves the reads of x
constexpr int kMostRows = 8;

__device__ __forceinline__ float finish(float sum, const float* bias, Activation activation, std::int64_t column,
                                        float before) {
  if (bias != nullptr) sum += bias[column];
  if (activation == Activation::gelu) return 0.5F * sum * (1.0F + erff(sum * 0.70710678118654752F));
  if (activation == Activation::relu) return fmaxf(sum, 0.0F);
  if (activation == Activation::add_to_target) return before + sum;
  return sum;
}

/// A warp computes kOutputs columns of kRows rows; kWide reads four elements at once.
template <int kRows, bool kWide>
__global__ void __launch_bounds__(32 * kWarps)
    small_product_kernel(const float* __restrict__ x, std::int64_t x_stride, const float* __restrict__ weights,
                         std::int64_t weight_stride, const float* __restrict__ bias, Activation activation,
                         float* __restrict__ y, std::int64_t y_stride, int in, std::int64_t out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  if (column >= out) return;
  float sums[kOutputs][kRows] = {};
  // A last warp without all its columns computes one twice and stores it once.
  const float* rows[kOutputs];
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) rows[o] = weights + min(column + o, out - 1) * weight_stride;
  if constexpr (kWide) {
#pragma unroll 4
    for (int at = 4 * lane; at < in; at += 128) {
      Four<float> w[kOutputs];
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) w[o] = *reinterpret_cast<const Four<float>*>(rows[o] + at);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const auto value = *reinterpret_cast<const Four<float>*>(x + r * x_stride + at);
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[o][r] += w[o].values[j] * value.values[j];
        }
      }
    }
  } else {
    for (int at = lane; at < in; at += 32) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float value = x[r * x_stride + at];
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) sums[o][r] += rows[o][at] * value;
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = warp_sum(sums[o][r]);
      if (lane != 0 || column + o >= out) continue;
      float* target = y + r * y_stride + column + o;
      *target = finish(sum, bias, activation, column + o, *target);
    }
  }
}

}  // namespace

void small_product(const float* x, std::int64_t x_stride, const float* weights, std::int64_t weight_stride,
                   const float* bias, Activation activation, float* y, std::int64_t y_stride, std::int64_t rows,
                   std::int64_t in, std::int64_t out, cudaStream_t stream) {
  constexpr std::int64_t kPerBlock = kWarps * kOutputs;
  const auto blocks = static_cast<unsigned>((out + kPerBlock - 1) / kPerBlock);
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  const bool wide = in % 4 == 0 && x_stride % 4 == 0 && weight_stride % 4 == 0 && aligned(x) && aligned(weights);
  const auto launch = [&](auto row_count, auto is_wide) {
    small_product_kernel<row_count(), is_wide()><<<blocks, 32 * kWarps, 0, stream>>>(
        x, x_stride, weights, weight_stride, bias, activation, y, y_stride, static_cast<int>(in), out);
    x += row_count() * x_stride;
    y += row_count() * y_stride;
    rows -= row_count();
  };
  while (rows > 0) {
    const auto rows_at_once = [&](auto row_count) {
      if (wide) {
        launch(row_count, std::true_type());
      } else {
        launch(row_count, std::false_type());
      }
    };
    if (rows >= kMostRows) {
      rows_at_once(std::integral_constant<int, kMostRows>());
    } else if (rows >= 4) {
      rows_at_once(std::integral_constant<int, 4>());
    } else if (rows >= 2) {
      rows_at_once(std::integral_constant<int, 2>());
    } else {
      rows_at_once(std::integral_constant<int, 1>());
    }
  }
  check_launch("small_product");
}

}  // namespace lingbot_map::cuda
