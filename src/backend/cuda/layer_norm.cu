#include "backend/cuda/early_launch.cuh"
#include "backend/cuda/kernels.hpp"
#include "backend/cuda/types.cuh"

namespace lingbot_map::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

/// The sum over a block, the same bits in every thread.
__device__ float block_sum(float value, float* partial) {
  value = warp_sum(value);
  __syncthreads();  // the last use of `partial` is over
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += partial[i];
  return sum;
}

/// One block a row, which stays in registers: kFours times four elements a thread.
template <typename T, int kFours>
__global__ void __launch_bounds__(kThreads)
    norm_in_registers(const float* x, std::int64_t x_stride, const float* __restrict__ weight,
                      const float* __restrict__ bias, float epsilon, T* __restrict__ y, std::int64_t y_stride,
                      int width) {
  __shared__ float partial[kWarps];
  let_next_start();
  wait_for_previous();
  const float* row = x + blockIdx.x * x_stride;
  Four<float> values[kFours];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = 4 * (i * kThreads + static_cast<int>(threadIdx.x));
    if (at >= width) continue;
    values[i] = *reinterpret_cast<const Four<float>*>(row + at);
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += values[i].values[j];
  }
  const float mean = block_sum(sum, partial) / static_cast<float>(width);
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = 4 * (i * kThreads + static_cast<int>(threadIdx.x));
    if (at >= width) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      values[i].values[j] -= mean;
      squares += values[i].values[j] * values[i].values[j];
    }
  }
  const float inverse = 1.0F / sqrtf(block_sum(squares, partial) / static_cast<float>(width) + epsilon);
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = 4 * (i * kThreads + static_cast<int>(threadIdx.x));
    if (at >= width) continue;
    const auto w = *reinterpret_cast<const Four<float>*>(weight + at);
    const auto b = *reinterpret_cast<const Four<float>*>(bias + at);
    Four<T> out;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      out.values[j] = from_float<T>(values[i].values[j] * inverse * w.values[j] + b.values[j]);
    }
    *reinterpret_cast<Four<T>*>(y + blockIdx.x * y_stride + at) = out;
  }
}

/// One block a row of any width and alignment.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    norm_any(const float* x, std::int64_t x_stride, const float* __restrict__ weight, const float* __restrict__ bias,
             float epsilon, T* __restrict__ y, std::int64_t y_stride, int width) {
  __shared__ float partial[kWarps];
  let_next_start();
  wait_for_previous();
  const float* row = x + blockIdx.x * x_stride;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) sum += row[i];
  const float mean = block_sum(sum, partial) / static_cast<float>(width);
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) squares += (row[i] - mean) * (row[i] - mean);
  const float inverse = 1.0F / sqrtf(block_sum(squares, partial) / static_cast<float>(width) + epsilon);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    y[blockIdx.x * y_stride + i] = from_float<T>((row[i] - mean) * inverse * weight[i] + bias[i]);
  }
}

bool aligned(const void* pointer, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0; }

}  // namespace

void layer_norm(const float* x, std::int64_t x_stride, const float* weight, const float* bias, float epsilon, void* y,
                std::int64_t y_stride, DType y_type, std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  if (rows == 0) return;
  with_type(y_type, [&](auto type) {
    using T = decltype(type);
    const auto blocks = static_cast<unsigned>(rows);
    const int elements = static_cast<int>(width);
    auto* out = static_cast<T*>(y);
    const auto launch = [&](auto* kernel) {
      launch_early(kernel, blocks, kThreads, stream, "layer_norm", x, x_stride, weight, bias, epsilon, out, y_stride,
                   elements);
    };
    const bool fours = width % 4 == 0 && x_stride % 4 == 0 && y_stride % 4 == 0 && aligned(x, 16) &&
                       aligned(weight, 16) && aligned(bias, 16) && aligned(y, 4 * sizeof(T));
    if (fours && width <= 4 * kThreads) {
      launch(norm_in_registers<T, 1>);
    } else if (fours && width <= 8 * kThreads) {
      launch(norm_in_registers<T, 2>);
    } else if (fours && width <= 16 * kThreads) {
      launch(norm_in_registers<T, 4>);
    } else {
      launch(norm_any<T>);
    }
  });
}

}  // namespace lingbot_map::cuda
