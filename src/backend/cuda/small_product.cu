#include <algorithm>
#include <type_traits>

#include "backend/cuda/early_launch.cuh"
#include "backend/cuda/kernels.hpp"
#include "backend/cuda/types.cuh"

namespace lingbot_map::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kMostRows = 8;
/// Four elements that a lane reads at once, all of them before it uses the first: enough bytes under way to keep the
/// memory busy.
constexpr int kFours = 8;
constexpr int kChunk = 4 * 32 * kFours;  ///< elements of a row of weights that a warp reads at a time

struct Epilogue {
  const float* bias;
  Activation activation;
  float* y;
  std::int64_t y_stride;

  __device__ __forceinline__ void store(float sum, int row, std::int64_t column) const {
    float* target = y + row * y_stride + column;
    if (bias != nullptr) sum += bias[column];
    if (activation == Activation::gelu) sum = 0.5F * sum * (1.0F + erff(sum * 0.70710678118654752F));
    if (activation == Activation::relu) sum = rectified(sum);
    if (activation == Activation::add_to_target) sum += *target;
    *target = sum;
  }
};

/// `kSplit` warps share a row of weights and put their sums together in a fixed order; a block has kWarps / kSplit
/// rows.
template <int kRows, int kSplit>
__global__ void __launch_bounds__(kThreads)
    wide_kernel(const float* x, std::int64_t x_stride, const float* __restrict__ weights, std::int64_t weight_stride,
                Epilogue epilogue, int in, std::int64_t out) {
  __shared__ float partial[kWarps][kRows];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * (kWarps / kSplit) + warp / kSplit;
  const bool present = column < out;
  const float* row = weights + (present ? column : 0) * weight_stride;
  let_next_start();
  float sums[kRows] = {};
  for (int begin = warp % kSplit * kChunk; begin < in; begin += kSplit * kChunk) {
    float4 w[kFours];
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const int at = begin + 4 * (lane + 32 * i);
      w[i] = at < in ? __ldcs(reinterpret_cast<const float4*>(row + at)) : float4{};
    }
    if (begin < kSplit * kChunk) wait_for_previous();  // the first weights are on their way
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) {
        const int at = begin + 4 * (lane + 32 * i);
        if (at >= in) continue;
        const auto value = *reinterpret_cast<const float4*>(x + r * x_stride + at);
        sums[r] += w[i].x * value.x + w[i].y * value.y + w[i].z * value.z + w[i].w * value.w;
      }
    }
  }
  if (warp % kSplit * kChunk >= in) wait_for_previous();
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float sum = warp_sum(sums[r]);
    if (lane == 0) partial[warp][r] = sum;
  }
  __syncthreads();
  if (warp % kSplit != 0 || lane >= kRows || !present) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kSplit; ++i) sum += partial[warp + i][lane];
  epilogue.store(sum, lane, column);
}

/// Any width and alignment.
template <int kRows>
__global__ void __launch_bounds__(kThreads)
    narrow_kernel(const float* x, std::int64_t x_stride, const float* __restrict__ weights, std::int64_t weight_stride,
                  Epilogue epilogue, int in, std::int64_t out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  let_next_start();
  wait_for_previous();
  if (column >= out) return;
  float sums[kRows] = {};
  for (int at = lane; at < in; at += 32) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] += weights[column * weight_stride + at] * x[r * x_stride + at];
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float sum = warp_sum(sums[r]);
    if (lane == 0) epilogue.store(sum, r, column);
  }
}

/// Calls action(constant) with the largest of the constants that is not above `value`.
template <int kFirst, int... kOthers, typename Action>
void with_at_most(std::int64_t value, const Action& action) {
  if constexpr (sizeof...(kOthers) > 0) {
    if (value < kFirst) return with_at_most<kOthers...>(value, action);
  }
  action(std::integral_constant<int, kFirst>());
}

}  // namespace

void small_product(const float* x, std::int64_t x_stride, const float* weights, std::int64_t weight_stride,
                   const float* bias, Activation activation, float* y, std::int64_t y_stride, std::int64_t rows,
                   std::int64_t in, std::int64_t out, cudaStream_t stream) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  const bool wide = in % 4 == 0 && x_stride % 4 == 0 && weight_stride % 4 == 0 && aligned(x) && aligned(weights);
  const auto blocks = [out](std::int64_t columns) { return static_cast<unsigned>((out + columns - 1) / columns); };
  const int elements = static_cast<int>(in);
  while (rows > 0) {
    with_at_most<kMostRows, 4, 2, 1>(rows, [&](auto row_count) {
      const Epilogue epilogue{bias, activation, y, y_stride};
      if (wide) {
        with_at_most<8, 4, 2, 1>(in / kChunk, [&](auto split) {
          launch_early(wide_kernel<row_count(), split()>, blocks(kWarps / split()), kThreads, stream, "small_product",
                       x, x_stride, weights, weight_stride, epilogue, elements, out);
        });
      } else {
        launch_early(narrow_kernel<row_count()>, blocks(kWarps), kThreads, stream, "small_product", x, x_stride,
                     weights, weight_stride, epilogue, elements, out);
      }
      x += row_count() * x_stride;
      y += row_count() * y_stride;
      rows -= row_count();
    });
  }
}

}  // namespace lingbot_map::cuda
