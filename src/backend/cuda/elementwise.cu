#include <algorithm>

#include "backend/cuda/check.hpp"
#include "backend/cuda/kernels.hpp"
#include "backend/cuda/types.cuh"

namespace lingbot_map::cuda {
namespace {

constexpr int kThreads = 256;

unsigned blocks_for(std::int64_t items) { return static_cast<unsigned>((items + kThreads - 1) / kThreads); }

__device__ __forceinline__ std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::gelu) return 0.5F * x * (1.0F + erff(x * 0.70710678118654752F));
  if constexpr (kActivation == Activation::relu) return rectified(x);
  return x;
}

/// Four elements of a row a thread; the width is a multiple of four.
template <typename T, Activation kActivation>
__global__ void __launch_bounds__(kThreads)
    bias_activation_kernel(const float* __restrict__ x, const float* __restrict__ bias, T* __restrict__ y,
                           std::int64_t y_stride, std::int64_t fours, std::int64_t fours_of_row) {
  const std::int64_t index = thread_index();
  if (index >= fours) return;
  const std::int64_t row = index / fours_of_row;
  const std::int64_t column = index % fours_of_row * 4;
  const auto in = reinterpret_cast<const Four<float>*>(x)[index];
  Four<float> offset{};
  if (bias != nullptr) offset = *reinterpret_cast<const Four<float>*>(bias + column);
  Four<T> out;
#pragma unroll
  for (int i = 0; i < 4; ++i) out.values[i] = from_float<T>(activate<kActivation>(in.values[i] + offset.values[i]));
  *reinterpret_cast<Four<T>*>(y + row * y_stride + column) = out;
}

template <typename T, Activation kActivation>
__global__ void __launch_bounds__(kThreads)
    bias_activation_any(const float* __restrict__ x, const float* __restrict__ bias, T* __restrict__ y,
                        std::int64_t y_stride, std::int64_t count, std::int64_t width) {
  const std::int64_t index = thread_index();
  if (index >= count) return;
  const std::int64_t column = index % width;
  const float value = x[index] + (bias != nullptr ? bias[column] : 0.0F);
  y[index / width * y_stride + column] = from_float<T>(activate<kActivation>(value));
}

__global__ void __launch_bounds__(kThreads)
    add_scaled_kernel(const float* __restrict__ x, const float* __restrict__ scale, const float* __restrict__ bias,
                      float* __restrict__ y, std::int64_t y_stride, std::int64_t count, std::int64_t width) {
  const std::int64_t index = thread_index();
  if (index >= count) return;
  const std::int64_t column = index % width;
  y[index / width * y_stride + column] += scale[column] * x[index] + (bias != nullptr ? bias[column] : 0.0F);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    convert_kernel(const float* __restrict__ x, std::int64_t x_stride, T* __restrict__ y, std::int64_t y_stride,
                   std::int64_t width, std::int64_t y_width, std::int64_t count) {
  const std::int64_t index = thread_index();
  if (index >= count) return;
  const std::int64_t row = index / y_width;
  const std::int64_t column = index % y_width;
  y[row * y_stride + column] = from_float<T>(column < width ? x[row * x_stride + column] : 0.0F);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    patch_rows_kernel(const std::uint8_t* __restrict__ image, std::int64_t width, int patch, T* __restrict__ rows,
                      std::int64_t row_width, std::int64_t count) {
  const std::int64_t index = thread_index();
  if (index >= count) return;
  const std::int64_t row = index / row_width;
  const int element = static_cast<int>(index % row_width);
  const int length = 3 * patch;
  float value = 0;
  if (element < length * patch) {
    const std::int64_t columns = width / patch;
    const std::int64_t top = row / columns * patch + element / length;
    const std::int64_t left = row % columns * patch;
    const int channel = element % 3;
    const float mean = channel == 0 ? 0.485F : channel == 1 ? 0.456F : 0.406F;
    const float deviation = channel == 0 ? 0.229F : channel == 1 ? 0.224F : 0.225F;
    value = (static_cast<float>(image[(top * width + left) * 3 + element % length]) / 255.0F - mean) / deviation;
  }
  rows[index] = from_float<T>(value);
}

__global__ void __launch_bounds__(kThreads) silu_kernel(const float* x, float* y, std::int64_t count) {
  const std::int64_t index = thread_index();
  if (index < count) y[index] = x[index] / (1.0F + expf(-x[index]));
}

/// One block a row.
__global__ void __launch_bounds__(kThreads)
    modulate_kernel(const float* __restrict__ x, const float* __restrict__ modulation, float* __restrict__ y,
                    int width) {
  constexpr float kEpsilon = 1e-6F;
  __shared__ float partial[kThreads / 32];
  const auto block_sum = [&](float value) {
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < kThreads / 32; ++i) sum += partial[i];
    return sum;
  };
  const float* row = x + static_cast<std::int64_t>(blockIdx.x) * width;
  const float* shift = modulation + static_cast<std::int64_t>(blockIdx.x) * 3 * width;
  const float* scale = shift + width;
  const float* gate = scale + width;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) sum += row[i];
  const float mean = block_sum(sum) / static_cast<float>(width);
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) squares += (row[i] - mean) * (row[i] - mean);
  const float inverse = 1.0F / sqrtf(block_sum(squares) / static_cast<float>(width) + kEpsilon);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    const float normed = (row[i] - mean) * inverse;
    y[static_cast<std::int64_t>(blockIdx.x) * width + i] = row[i] + gate[i] * (normed * (1.0F + scale[i]) + shift[i]);
  }
}

template <typename T, Activation kActivation>
void launch_bias_activation(const float* x, const float* bias, T* y, std::int64_t y_stride, std::int64_t rows,
                            std::int64_t width, cudaStream_t stream) {
  const auto aligned = [](const void* p, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(p) % bytes == 0;
  };
  if (width % 4 == 0 && y_stride % 4 == 0 && aligned(x, 16) && aligned(bias, 16) && aligned(y, 4 * sizeof(T))) {
    const std::int64_t fours = rows * width / 4;
    bias_activation_kernel<T, kActivation>
        <<<blocks_for(fours), kThreads, 0, stream>>>(x, bias, y, y_stride, fours, width / 4);
  } else {
    bias_activation_any<T, kActivation>
        <<<blocks_for(rows * width), kThreads, 0, stream>>>(x, bias, y, y_stride, rows * width, width);
  }
}

}  // namespace

void bias_activation(const float* x, const float* bias, Activation activation, void* y, std::int64_t y_stride,
                     DType y_type, std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  if (rows * width == 0) return;
  with_type(y_type, [&](auto type) {
    using T = decltype(type);
    auto* out = static_cast<T*>(y);
    if (activation == Activation::gelu) {
      launch_bias_activation<T, Activation::gelu>(x, bias, out, y_stride, rows, width, stream);
    } else if (activation == Activation::relu) {
      launch_bias_activation<T, Activation::relu>(x, bias, out, y_stride, rows, width, stream);
    } else {
      launch_bias_activation<T, Activation::none>(x, bias, out, y_stride, rows, width, stream);
    }
  });
  check_launch("bias_activation");
}

void add_scaled(const float* x, const float* scale, const float* bias, float* y, std::int64_t y_stride,
                std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  if (rows * width == 0) return;
  add_scaled_kernel<<<blocks_for(rows * width), kThreads, 0, stream>>>(x, scale, bias, y, y_stride, rows * width,
                                                                       width);
  check_launch("add_scaled");
}

void convert_rows(const float* x, std::int64_t x_stride, void* y, std::int64_t y_stride, DType y_type,
                  std::int64_t rows, std::int64_t width, std::int64_t y_width, cudaStream_t stream) {
  const std::int64_t count = rows * y_width;
  if (count == 0) return;
  with_type(y_type, [&](auto type) {
    using T = decltype(type);
    convert_kernel<T>
        <<<blocks_for(count), kThreads, 0, stream>>>(x, x_stride, static_cast<T*>(y), y_stride, width, y_width, count);
  });
  check_launch("convert_rows");
}

void patch_rows(const std::uint8_t* image, std::int64_t height, std::int64_t width, int patch, void* rows,
                std::int64_t row_width, DType type, cudaStream_t stream) {
  const std::int64_t count = height / patch * (width / patch) * row_width;
  with_type(type, [&](auto element) {
    using T = decltype(element);
    patch_rows_kernel<T>
        <<<blocks_for(count), kThreads, 0, stream>>>(image, width, patch, static_cast<T*>(rows), row_width, count);
  });
  check_launch("patch_rows");
}

void silu(const float* x, float* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  silu_kernel<<<blocks_for(count), kThreads, 0, stream>>>(x, y, count);
  check_launch("silu");
}

void modulate(const float* x, const float* modulation, float* y, std::int64_t rows, std::int64_t width,
              cudaStream_t stream) {
  if (rows == 0) return;
  modulate_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x, modulation, y, static_cast<int>(width));
  check_launch("modulate");
}

}  // namespace lingbot_map::cuda
