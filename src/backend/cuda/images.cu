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

/// kCount elements that are read or written at once.
template <int kCount>
struct alignas(4 * kCount) Pack {
  float values[kCount];
};

bool aligned16(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }
/// Whether an image can be read four channels at a time.
bool in_fours(const ImageView& x) { return x.channels % 4 == 0 && x.row_stride % 4 == 0 && aligned16(x.data); }

/// A place in an image: a run of kCount channels of one pixel.
template <int kCount>
struct Place {
  std::int64_t row;
  std::int64_t column;
  std::int64_t channel;
  __device__ Place(std::int64_t index, const ImageView& image) {
    const std::int64_t packs = image.channels / kCount;
    channel = index % packs * kCount;
    column = index / packs % image.width;
    row = index / packs / image.width;
  }
};

template <int kCount>
__device__ __forceinline__ Pack<kCount>& at(const ImageView& image, std::int64_t row, std::int64_t column,
                                            std::int64_t channel) {
  return *reinterpret_cast<Pack<kCount>*>(image.data + row * image.row_stride + column * image.channels + channel);
}

template <int kCount>
__global__ void __launch_bounds__(kThreads) relu_kernel(ImageView x, std::int64_t count) {
  if (thread_index() >= count) return;
  const Place<kCount> place(thread_index(), x);
  Pack<kCount>& pack = at<kCount>(x, place.row, place.column, place.channel);
  Pack<kCount> values = pack;
#pragma unroll
  for (float& value : values.values) value = rectified(value);
  pack = values;
}

template <int kCount>
__global__ void __launch_bounds__(kThreads) add_kernel(ImageView x, ImageView y, std::int64_t count) {
  if (thread_index() >= count) return;
  const Place<kCount> place(thread_index(), x);
  const Pack<kCount> from = at<kCount>(x, place.row, place.column, place.channel);
  Pack<kCount>& pack = at<kCount>(y, place.row, place.column, place.channel);
  Pack<kCount> values = pack;
#pragma unroll
  for (int i = 0; i < kCount; ++i) values.values[i] += from.values[i];
  pack = values;
}

/// kCount divides half the channels, so a pack lies in one half.
template <int kCount>
__global__ void __launch_bounds__(kThreads)
    add_positions_kernel(const float* __restrict__ columns, const float* __restrict__ rows, ImageView x,
                         std::int64_t count) {
  if (thread_index() >= count) return;
  const Place<kCount> place(thread_index(), x);
  const std::int64_t half = x.channels / 2;
  const float* code = place.channel < half ? columns + place.column * half + place.channel
                                           : rows + place.row * half + place.channel - half;
  Pack<kCount>& pack = at<kCount>(x, place.row, place.column, place.channel);
  Pack<kCount> values = pack;
  const auto added = *reinterpret_cast<const Pack<kCount>*>(code);
#pragma unroll
  for (int i = 0; i < kCount; ++i) values.values[i] += added.values[i];
  pack = values;
}

/// Where output position `i` of an axis lies in the input, corners aligned.
struct Sample {
  std::int64_t low;
  std::int64_t high;
  float weight;  ///< of `high`
  __device__ Sample(std::int64_t i, std::int64_t in, float scale) {
    const float position = scale * static_cast<float>(i);
    low = min(static_cast<std::int64_t>(position), in - 1);
    high = min(low + 1, in - 1);
    weight = position - static_cast<float>(low);
  }
};

template <int kCount>
__global__ void __launch_bounds__(kThreads)
    resize_kernel(ImageView x, ImageView y, float row_scale, float column_scale, std::int64_t count) {
  if (thread_index() >= count) return;
  const Place<kCount> place(thread_index(), y);
  const Sample row(place.row, x.height, row_scale);
  const Sample column(place.column, x.width, column_scale);
  const auto top_left = at<kCount>(x, row.low, column.low, place.channel);
  const auto top_right = at<kCount>(x, row.low, column.high, place.channel);
  const auto bottom_left = at<kCount>(x, row.high, column.low, place.channel);
  const auto bottom_right = at<kCount>(x, row.high, column.high, place.channel);
  Pack<kCount> out;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float top = (1.0F - column.weight) * top_left.values[i] + column.weight * top_right.values[i];
    const float bottom = (1.0F - column.weight) * bottom_left.values[i] + column.weight * bottom_right.values[i];
    out.values[i] = (1.0F - row.weight) * top + row.weight * bottom;
  }
  at<kCount>(y, place.row, place.column, place.channel) = out;
}

template <int kCount>
__global__ void __launch_bounds__(kThreads) depth_to_space_kernel(const float* __restrict__ x, std::int64_t x_stride,
                                                                  int factor, ImageView y, std::int64_t count) {
  if (thread_index() >= count) return;
  const Place<kCount> place(thread_index(), y);
  const std::int64_t pixel = place.row / factor * (y.width / factor) + place.column / factor;
  const std::int64_t part = place.row % factor * factor + place.column % factor;
  const float* from = x + pixel * x_stride + part * y.channels + place.channel;
  at<kCount>(y, place.row, place.column, place.channel) = *reinterpret_cast<const Pack<kCount>*>(from);
}

__global__ void __launch_bounds__(kThreads)
    depth_outputs_kernel(ImageView x, float* __restrict__ depth, std::int64_t depth_stride,
                         float* __restrict__ confidence, std::int64_t confidence_stride, std::int64_t count) {
  if (thread_index() >= count) return;
  const std::int64_t row = thread_index() / x.width;
  const std::int64_t column = thread_index() % x.width;
  const float* from = x.data + row * x.row_stride + column * 2;
  depth[row * depth_stride + column] = expf(from[0]);
  confidence[row * confidence_stride + column] = 1.0F + expf(from[1]);
}

__global__ void __launch_bounds__(kThreads)
    point_outputs_kernel(ImageView x, float* __restrict__ points, std::int64_t points_stride,
                         float* __restrict__ confidence, std::int64_t confidence_stride, std::int64_t count) {
  if (thread_index() >= count) return;
  const std::int64_t row = thread_index() / x.width;
  const std::int64_t column = thread_index() % x.width;
  const float* from = x.data + row * x.row_stride + column * 4;
  float* to = points + row * points_stride + column * 3;
#pragma unroll
  for (int i = 0; i < 3; ++i) to[i] = copysignf(expm1f(fabsf(from[i])), from[i]);
  confidence[row * confidence_stride + column] = 1.0F + expf(from[3]);
}

template <int kCount>
__global__ void __launch_bounds__(kThreads)
    window_rows_kernel(ImageView x, int kernel, int stride, int padding, std::int64_t out_width, std::int64_t first,
                       float* __restrict__ rows, std::int64_t count) {
  const std::int64_t index = thread_index();
  if (index >= count) return;
  const std::int64_t packs = x.channels / kCount;
  const std::int64_t channel = index % packs * kCount;
  const std::int64_t tap = index / packs % (static_cast<std::int64_t>(kernel) * kernel);
  const std::int64_t pixel = first + index / packs / (static_cast<std::int64_t>(kernel) * kernel);
  const std::int64_t row = pixel / out_width * stride - padding + tap / kernel;
  const std::int64_t column = pixel % out_width * stride - padding + tap % kernel;
  Pack<kCount> values{};
  if (row >= 0 && row < x.height && column >= 0 && column < x.width) values = at<kCount>(x, row, column, channel);
  reinterpret_cast<Pack<kCount>*>(rows)[index] = values;
}

std::int64_t elements(const ImageView& x) { return x.height * x.width * x.channels; }

/// Calls launch(kCount as a constant, threads) with four channels at once where that is possible.
template <typename Launch>
void launch_packed(bool fours, std::int64_t elements, const char* name, const Launch& launch) {
  if (elements == 0) return;
  if (fours) {
    launch(std::integral_constant<int, 4>(), elements / 4);
  } else {
    launch(std::integral_constant<int, 1>(), elements);
  }
  check_launch(name);
}

float scale_of(std::int64_t in, std::int64_t out) {
  return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F;
}

}  // namespace

void relu(const ImageView& x, cudaStream_t stream) {
  launch_packed(in_fours(x), elements(x), "relu", [&](auto pack, std::int64_t count) {
    relu_kernel<pack()><<<blocks_for(count), kThreads, 0, stream>>>(x, count);
  });
}

void add(const ImageView& x, const ImageView& y, cudaStream_t stream) {
  launch_packed(in_fours(x) && in_fours(y), elements(x), "add", [&](auto pack, std::int64_t count) {
    add_kernel<pack()><<<blocks_for(count), kThreads, 0, stream>>>(x, y, count);
  });
}

void add_positions(const float* columns, const float* rows, const ImageView& x, cudaStream_t stream) {
  const bool fours = in_fours(x) && x.channels % 8 == 0 && aligned16(columns) && aligned16(rows);
  launch_packed(fours, elements(x), "add_positions", [&](auto pack, std::int64_t count) {
    add_positions_kernel<pack()><<<blocks_for(count), kThreads, 0, stream>>>(columns, rows, x, count);
  });
}

void resize(const ImageView& x, const ImageView& y, cudaStream_t stream) {
  launch_packed(in_fours(x) && in_fours(y), elements(y), "resize", [&](auto pack, std::int64_t count) {
    resize_kernel<pack()><<<blocks_for(count), kThreads, 0, stream>>>(x, y, scale_of(x.height, y.height),
                                                                      scale_of(x.width, y.width), count);
  });
}

void depth_to_space(const float* x, std::int64_t x_stride, int factor, const ImageView& y, cudaStream_t stream) {
  launch_packed(in_fours(y) && x_stride % 4 == 0 && aligned16(x), elements(y), "depth_to_space",
                [&](auto pack, std::int64_t count) {
                  depth_to_space_kernel<pack()>
                      <<<blocks_for(count), kThreads, 0, stream>>>(x, x_stride, factor, y, count);
                });
}

void depth_outputs(const ImageView& x, float* depth, std::int64_t depth_stride, float* confidence,
                   std::int64_t confidence_stride, cudaStream_t stream) {
  const std::int64_t count = x.height * x.width;
  if (count == 0) return;
  depth_outputs_kernel<<<blocks_for(count), kThreads, 0, stream>>>(x, depth, depth_stride, confidence,
                                                                   confidence_stride, count);
  check_launch("depth_outputs");
}

void point_outputs(const ImageView& x, float* points, std::int64_t points_stride, float* confidence,
                   std::int64_t confidence_stride, cudaStream_t stream) {
  const std::int64_t count = x.height * x.width;
  if (count == 0) return;
  point_outputs_kernel<<<blocks_for(count), kThreads, 0, stream>>>(x, points, points_stride, confidence,
                                                                   confidence_stride, count);
  check_launch("point_outputs");
}

void window_rows(const ImageView& x, int kernel, int stride, int padding, std::int64_t out_width, std::int64_t first,
                 std::int64_t count, float* rows, cudaStream_t stream) {
  launch_packed(in_fours(x) && aligned16(rows), count * kernel * kernel * x.channels, "window_rows",
                [&](auto pack, std::int64_t threads) {
                  window_rows_kernel<pack()><<<blocks_for(threads), kThreads, 0, stream>>>(
                      x, kernel, stride, padding, out_width, first, rows, threads);
                });
}

}  // namespace lingbot_map::cuda
