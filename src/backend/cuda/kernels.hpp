#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/backend.hpp"

namespace lingbot_map::cuda {

// The project's own kernels. Shapes and types were checked by CudaBackend; strides are in elements. Each launch is one
// kernel, without atomics: results repeat bit for bit. Sums are float32.

/// y[row] = (x[row] - mean) / sqrt(variance + epsilon) * weight + bias: x float32 [rows, width], y of any float type.
void layer_norm(const float* x, std::int64_t x_stride, const float* weight, const float* bias, float epsilon, void* y,
                std::int64_t y_stride, DType y_type, std::int64_t rows, std::int64_t width, cudaStream_t stream);

/// Backend::split_heads.
struct SplitHeads {
  const float* qkv;
  std::int64_t qkv_stride;
  void* q;
  std::int64_t q_stride;
  void* keys;
  std::int64_t keys_stride;
  void* values;
  std::int64_t values_stride;
  const std::int64_t* places;  ///< [frames, 2]; null: frame after frame
  const float* q_weight;       ///< [head_dim]; null: no norm
  const float* q_bias;
  const float* k_weight;
  const float* k_bias;
  const float* temporal;  ///< [frames, temporal_pairs, 2]
  const float* spatial;   ///< [tokens or 1, spatial_pairs, 2]
  std::int64_t frames;
  std::int64_t tokens;
  std::int64_t specials;
  float q_epsilon;
  float k_epsilon;
  int heads;
  int head_dim;
  int temporal_pairs;
  int spatial_pairs;
  bool one_spatial_row;
  bool interleaved;
};
void split_heads(const SplitHeads& arguments, DType type, cudaStream_t stream);

/// y = f(x + bias) for a product's sums x float32 [rows, width]; bias may be null.
void bias_activation(const float* x, const float* bias, Activation activation, void* y, std::int64_t y_stride,
                     DType y_type, std::int64_t rows, std::int64_t width, cudaStream_t stream);

/// y += scale * x + bias for a product's sums x float32 [rows, width]; bias may be null.
void add_scaled(const float* x, const float* scale, const float* bias, float* y, std::int64_t y_stride,
                std::int64_t rows, std::int64_t width, cudaStream_t stream);

/// A product of a few rows with float32 weights [out, in], bound by reading the weights: x float32 [rows, in],
/// y float32 [rows, out].
void small_product(const float* x, std::int64_t x_stride, const float* weights, std::int64_t weight_stride,
                   const float* bias, Activation activation, float* y, std::int64_t y_stride, std::int64_t rows,
                   std::int64_t in, std::int64_t out, cudaStream_t stream);

/// Rows of another type or stride; elements past `width` up to `y_width` become zero.
void convert_rows(const float* x, std::int64_t x_stride, void* y, std::int64_t y_stride, DType y_type,
                  std::int64_t rows, std::int64_t width, std::int64_t y_width, cudaStream_t stream);

/// Normalised patches of one image u8 [height, width, 3] as rows [patches, row_width] of row, column, channel; elements
/// past 3 patch^2 are zero.
void patch_rows(const std::uint8_t* image, std::int64_t height, std::int64_t width, int patch, void* rows,
                std::int64_t row_width, DType type, cudaStream_t stream);

void silu(const float* x, float* y, std::int64_t count, cudaStream_t stream);
void modulate(const float* x, const float* modulation, float* y, std::int64_t rows, std::int64_t width,
              cudaStream_t stream);

/// A float32 image with channels last; rows may lie apart.
struct ImageView {
  float* data;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  std::int64_t row_stride;
};
void relu(const ImageView& x, cudaStream_t stream);
void add(const ImageView& x, const ImageView& y, cudaStream_t stream);
void add_positions(const float* columns, const float* rows, const ImageView& x, cudaStream_t stream);
void resize(const ImageView& x, const ImageView& y, cudaStream_t stream);
/// x [height * width, factor * factor * channels], y the image of factor times the size.
void depth_to_space(const float* x, std::int64_t x_stride, int factor, const ImageView& y, cudaStream_t stream);
void depth_outputs(const ImageView& x, float* depth, std::int64_t depth_stride, float* confidence,
                   std::int64_t confidence_stride, cudaStream_t stream);
void point_outputs(const ImageView& x, float* points, std::int64_t points_stride, float* confidence,
                   std::int64_t confidence_stride, cudaStream_t stream);
/// Windows of a convolution as rows: output pixels [first, first + count) of an image `out_width` wide, elements
/// ordered window row, window column, channel; zero outside the image.
void window_rows(const ImageView& x, int kernel, int stride, int padding, std::int64_t out_width, std::int64_t first,
                 std::int64_t count, float* rows, cudaStream_t stream);

}  // namespace lingbot_map::cuda
