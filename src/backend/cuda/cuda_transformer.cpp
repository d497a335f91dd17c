#include <algorithm>

#include "backend/cuda/check.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/hopper_product.hpp"
#include "backend/cuda/kernels.hpp"

namespace lingbot_map {

using namespace cuda;

namespace {

const CudaMatrix& matrix_of(const Linear& linear) {
  const auto* matrix = dynamic_cast<const CudaMatrix*>(linear.weight.get());
  check(matrix != nullptr, "weights of another back end");
  return *matrix;
}

/// The `count` float32 values of a buffer; null when it is empty.
const float* values_of(const Buffer& buffer, std::int64_t count, const char* what) {
  check(buffer.empty() || buffer.bytes() == static_cast<std::size_t>(count) * sizeof(float), what, " of ",
        buffer.bytes(), " bytes for ", count, " outputs");
  return static_cast<const float*>(buffer.data());
}

struct NormValues {
  const float* weight = nullptr;
  const float* bias = nullptr;
};
NormValues values_of(const Norm& norm, std::int64_t width) {
  const auto bytes = static_cast<std::size_t>(width) * sizeof(float);
  check(norm.weight.bytes() == bytes && norm.bias.bytes() == bytes, "norm of width ",
        norm.weight.bytes() / sizeof(float), " with a bias of ", norm.bias.bytes() / sizeof(float), ", expected ",
        width);
  return {static_cast<const float*>(norm.weight.data()), static_cast<const float*>(norm.bias.data())};
}

void check_rotary(const HeadSplit& split, std::int64_t frames, std::int64_t tokens) {
  constexpr int kMostHeadDims = 256;
  const Tensor& temporal = split.rotary.temporal;
  const Tensor& spatial = split.rotary.spatial;
  const std::int64_t pairs_in_frame = temporal.empty() ? 0 : temporal.dim(1);
  const std::int64_t pairs_in_token = spatial.empty() ? 0 : spatial.dim(1);
  const std::int64_t pairs = pairs_in_frame + pairs_in_token;
  check(split.head_dim <= kMostHeadDims && split.head_dim % 2 == 0 && (pairs == 0 || 2 * pairs == split.head_dim),
        "rotary pairs ", pairs_in_frame, " + ", pairs_in_token, " for heads of ", split.head_dim);
  check((temporal.empty() || (temporal.dim(0) == frames && temporal.contiguous())) &&
            (spatial.empty() || ((spatial.dim(0) == tokens || spatial.dim(0) == 1) && spatial.contiguous())),
        "rotary tables ", temporal.shape_text(), " and ", spatial.shape_text(), " for ", frames, " frames of ", tokens,
        " tokens");
  check(pairs == 0 || split.rotary.interleaved || split.head_dim % 32 == 0, "heads of ", split.head_dim,
        " in halves of 32");
}

/// Rows of a product whose sums pass through memory on their way to an activation.
constexpr std::int64_t kRowsAtOnce = 2048;
/// The most rows for which a product is bound by reading its weights.
constexpr std::int64_t kFewRows = 16;

}  // namespace

void CudaBackend::embed_patches(const Tensor& images, int patch, const Linear& projection, const Tensor& positions,
                                std::int64_t first, const Tensor& x) {
  const auto guard = lock();
  const std::int64_t patches = positions.dim(0);
  const std::int64_t width = x.dim(2);
  const CudaMatrix& weights = matrix_of(projection);
  check(images.rank() == 4 && images.dim(3) == 3 && images.dtype() == DType::u8 && images.contiguous() &&
            x.rank() == 3 && x.dim(0) == images.dim(0) && positions.rank() == 2 && positions.dim(1) == width &&
            weights.out() == width && weights.in() == std::int64_t{3} * patch * patch && images.dim(1) % patch == 0 &&
            images.dim(2) % patch == 0 && patches * patch * patch == images.dim(1) * images.dim(2) && first >= 0 &&
            first + patches <= x.dim(1),
        "embed_patches of ", images.shape_text(), " into ", x.shape_text(), ": patches of ", patch, ", projection [",
        weights.out(), ", ", weights.in(), "], positions ", positions.shape_text(), ", first token ", first);
  void* const rows = scratch(static_cast<std::size_t>(patches * weights.stride()) * size_of(weights.dtype()));
  for (std::int64_t frame = 0; frame < images.dim(0); ++frame) {
    const Tensor target(x.data<float>() + frame * x.row_stride() + first * width, DType::f32, {patches, width},
                        x.device());
    copy(positions, target);
    patch_rows(images.data<std::uint8_t>() + frame * images.row_elements(), images.dim(1), images.dim(2), patch, rows,
               weights.stride(), weights.dtype(), current_);
    products_->run({.x = rows,
                    .x_stride = weights.stride(),
                    .weights = &weights,
                    .in = weights.stride(),
                    .bias = values_of(projection.bias, width, "bias"),
                    .y = target.raw(),
                    .y_stride = width,
                    .rows = patches,
                    .add = true},
                   current_);
  }
}

void CudaBackend::copy(const Tensor& source, const Tensor& target) {
  const auto guard = lock();
  check(source.dtype() == target.dtype() && source.dim(0) == target.dim(0) &&
            source.row_elements() == target.row_elements(),
        "copy of ", source.shape_text(), " to ", target.shape_text());
  const std::size_t size = size_of(source.dtype());
  const std::size_t row = static_cast<std::size_t>(source.row_elements()) * size;
  if (row == 0 || source.dim(0) == 0) return;
  check_cuda(cudaMemcpy2DAsync(target.raw(), static_cast<std::size_t>(target.row_stride()) * size, source.raw(),
                               static_cast<std::size_t>(source.row_stride()) * size, row,
                               static_cast<std::size_t>(source.dim(0)), cudaMemcpyDeviceToDevice, current_),
             "copy");
}

void CudaBackend::clear(const Tensor& target) {
  const auto guard = lock();
  check(target.contiguous(), "clear of a strided view");
  check_cuda(cudaMemsetAsync(target.raw(), 0, target.bytes(), current_), "clear");
}

void CudaBackend::layer_norm(const Tensor& x, const Norm& norm, const Tensor& y) {
  const auto guard = lock();
  check(x.rank() == 2 && y.rank() == 2 && x.dim(0) == y.dim(0) && x.dim(1) == y.dim(1) && x.dtype() == DType::f32,
        "layer_norm of ", x.shape_text(), " into ", y.shape_text());
  const auto [weight, bias] = values_of(norm, x.dim(1));
  cuda::layer_norm(x.data<float>(), x.row_stride(), weight, bias, norm.epsilon, y.raw(), y.row_stride(), y.dtype(),
                   x.dim(0), x.dim(1), current_);
}

void CudaBackend::linear(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y) {
  const auto guard = lock();
  const CudaMatrix& weights = matrix_of(linear);
  check(x.rank() == 2 && y.rank() == 2 && x.dim(0) == y.dim(0) && x.dim(1) == weights.in() && y.dim(1) == weights.out(),
        "linear of ", x.shape_text(), " by [", weights.out(), ", ", weights.in(), "] into ", y.shape_text());
  check(activation != Activation::add_to_target || y.dtype() == DType::f32, "a residual stream of ",
        name_of(y.dtype()));
  check((x.dtype() == DType::f32 || x.dtype() == weights.dtype()) &&
            (y.dtype() == DType::f32 || y.dtype() == weights.dtype()),
        "linear of ", name_of(x.dtype()), " by ", name_of(weights.dtype()), " into ", name_of(y.dtype()));
  check(linear.scale.empty() || activation == Activation::add_to_target, "a scaled product that adds to nothing");
  if (weights.precision() == Precision::f32 && x.dim(0) <= kFewRows && y.dtype() == DType::f32 &&
      linear.scale.empty()) {
    small_product(x.data<float>(), x.row_stride(), static_cast<const float*>(weights.data()), weights.stride(),
                  values_of(linear.bias, weights.out(), "bias"), activation, y.data<float>(), y.row_stride(), x.dim(0),
                  weights.in(), weights.out(), current_);
    return;
  }
  if (multiply_at_once(x, linear, activation, y)) return;
  for (std::int64_t row = 0; row < x.dim(0); row += kRowsAtOnce) {
    const std::int64_t rows = std::min(kRowsAtOnce, x.dim(0) - row);
    if (rows == x.dim(0)) {
      multiply(x, linear, activation, y);
    } else if (y.dtype() != DType::f32 || activation == Activation::gelu || x.dtype() != weights.dtype() ||
               !linear.scale.empty()) {
      multiply(x.rows(row, rows), linear, activation, y.rows(row, rows));
    } else {  // nothing passes through scratch memory
      multiply(x, linear, activation, y);
      return;
    }
  }
}

namespace {

/// A call of our own product without its epilogue; false when the types or the device do not fit.
bool describe(const CudaBackend& backend, const Tensor& x, const Linear& linear, HopperProduct& call) {
  const CudaMatrix& weights = matrix_of(linear);
  if (!hopper_product_available(backend.compute_capability()) || x.dtype() != weights.dtype() ||
      weights.dtype() == DType::f32) {
    return false;
  }
  call = {.x = x.raw(),
          .x_stride = x.row_stride(),
          .weights = weights.data(),
          .weight_stride = weights.stride(),
          .bias = values_of(linear.bias, weights.out(), "bias"),
          .rows = x.dim(0),
          .in = weights.in(),
          .out = weights.out(),
          .is_bf16 = weights.dtype() == DType::bf16,
          .epilogue = {},
          .starts_early = true};
  return true;
}

}  // namespace

bool CudaBackend::multiply_at_once(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y) {
  HopperProduct call;
  // cuBLASLt is the faster one where the epilogue is only an addition.
  const bool adds_only = activation == Activation::add_to_target && linear.scale.empty();
  if (adds_only || activation == Activation::relu || !describe(*this, x, linear, call)) return false;
  if (activation == Activation::gelu) {
    if (y.dtype() != x.dtype()) return false;
    call.epilogue = GeluEpilogue{.y = y.raw(), .y_stride = y.row_stride()};
  } else if (activation == Activation::add_to_target) {
    call.epilogue = AddEpilogue{.y = y.data<float>(),
                                .y_stride = y.row_stride(),
                                .scale = values_of(linear.scale, matrix_of(linear).out(), "scale")};
  } else {
    call.epilogue = PlainEpilogue{.y = y.raw(), .y_stride = y.row_stride(), .is_float32 = y.dtype() == DType::f32};
  }
  if (!hopper_product_supports(call)) return false;
  hopper_product(call, current_);
  return true;
}

void CudaBackend::multiply(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y) {
  const CudaMatrix& weights = matrix_of(linear);
  const float* bias = values_of(linear.bias, weights.out(), "bias");
  const float* scale = values_of(linear.scale, weights.out(), "scale");
  const bool through_memory = activation == Activation::gelu || y.dtype() != DType::f32 || scale != nullptr;
  const std::int64_t stride = weights.stride();
  const std::size_t sums_bytes =
      through_memory ? static_cast<std::size_t>(x.dim(0) * weights.out()) * sizeof(float) : 0;
  const std::size_t aligned_sums = (sums_bytes + 255) / 256 * 256;
  const bool convert = x.dtype() != weights.dtype();
  const std::size_t x_bytes = convert ? static_cast<std::size_t>(x.dim(0) * stride) * size_of(weights.dtype()) : 0;
  auto* const memory = aligned_sums + x_bytes > 0 ? static_cast<std::byte*>(scratch(aligned_sums + x_bytes)) : nullptr;

  Product product{.x = x.raw(),
                  .x_stride = x.row_stride(),
                  .weights = &weights,
                  .in = weights.in(),
                  .bias = bias,
                  .y = y.raw(),
                  .y_stride = y.row_stride(),
                  .rows = x.dim(0),
                  .add = activation == Activation::add_to_target};
  if (convert) {
    convert_rows(x.data<float>(), x.row_stride(), memory + aligned_sums, stride, weights.dtype(), x.dim(0), x.dim(1),
                 stride, current_);
    product.x = memory + aligned_sums;
    product.x_stride = stride;
    product.in = stride;
  }
  if (through_memory) {
    product.bias = nullptr;
    product.add = false;
    product.y = memory;
    product.y_stride = weights.out();
  }
  products_->run(product, current_);
  const auto* sums = reinterpret_cast<const float*>(memory);
  if (scale != nullptr) {
    add_scaled(sums, scale, bias, y.data<float>(), y.row_stride(), y.dim(0), y.dim(1), current_);
  } else if (through_memory) {
    bias_activation(sums, bias, activation, y.raw(), y.row_stride(), y.dtype(), y.dim(0), y.dim(1), current_);
  } else if (activation == Activation::relu) {  // cuBLASLt's own would hide NaN
    cuda::relu({y.data<float>(), y.dim(0), 1, y.dim(1), y.row_stride()}, current_);
  }
}

namespace {

/// Where heads go and what happens to them on the way, but for where they come from.
SplitHeads describe_heads(std::int64_t rows, std::int64_t frames, const HeadSplit& split, const Tensor& q,
                          const KeyValueTarget& target) {
  const std::int64_t width = static_cast<std::int64_t>(split.heads) * split.head_dim;
  const std::int64_t tokens = rows / frames;
  const Tensor& places = target.places;
  check(target.keys.rank() == 2 && target.values.rank() == 2 && target.keys.dim(1) == width &&
            target.values.dim(1) == width && target.keys.dtype() == q.dtype() && target.values.dtype() == q.dtype() &&
            target.specials >= 0 && target.specials <= tokens && (target.specials == 0 || !places.empty()) &&
            (places.empty() ? std::min(target.keys.dim(0), target.values.dim(0)) >= rows
                            : places.rank() == 2 && places.dim(0) == frames && places.dim(1) == 2 &&
                                  places.dtype() == DType::i64 && places.contiguous()),
        "a target of ", target.specials, " + ", tokens - target.specials, " tokens of ", width, " elements in ",
        target.keys.shape_text(), " and ", target.values.shape_text());
  check_rotary(split, frames, tokens);
  const Tensor& temporal = split.rotary.temporal;
  const Tensor& spatial = split.rotary.spatial;
  const NormValues q_norm = split.q_norm != nullptr ? values_of(*split.q_norm, split.head_dim) : NormValues();
  const NormValues k_norm = split.k_norm != nullptr ? values_of(*split.k_norm, split.head_dim) : NormValues();
  return {.qkv = nullptr,
          .qkv_stride = 0,
          .q = q.raw(),
          .q_stride = q.row_stride(),
          .keys = target.keys.raw(),
          .keys_stride = target.keys.row_stride(),
          .values = target.values.raw(),
          .values_stride = target.values.row_stride(),
          .places = places.empty() ? nullptr : places.data<std::int64_t>(),
          .q_weight = q_norm.weight,
          .q_bias = q_norm.bias,
          .k_weight = k_norm.weight,
          .k_bias = k_norm.bias,
          .temporal = temporal.empty() ? nullptr : temporal.data<float>(),
          .spatial = spatial.empty() ? nullptr : spatial.data<float>(),
          .frames = frames,
          .tokens = tokens,
          .specials = target.specials,
          .q_epsilon = split.q_norm != nullptr ? split.q_norm->epsilon : 0.0F,
          .k_epsilon = split.k_norm != nullptr ? split.k_norm->epsilon : 0.0F,
          .heads = split.heads,
          .head_dim = split.head_dim,
          .temporal_pairs = temporal.empty() ? 0 : static_cast<int>(temporal.dim(1)),
          .spatial_pairs = spatial.empty() ? 0 : static_cast<int>(spatial.dim(1)),
          .one_spatial_row = !spatial.empty() && spatial.dim(0) == 1 && tokens != 1,
          .interleaved = split.rotary.interleaved};
}

}  // namespace

void CudaBackend::split_heads(const Tensor& qkv, std::int64_t frames, const HeadSplit& split, const Tensor& q,
                              const KeyValueTarget& target) {
  const auto guard = lock();
  const std::int64_t width = static_cast<std::int64_t>(split.heads) * split.head_dim;
  check(frames > 0 && qkv.rank() == 2 && qkv.dim(0) % frames == 0 && qkv.dim(1) == 3 * width &&
            qkv.dtype() == DType::f32 && q.rank() == 2 && q.dim(0) == qkv.dim(0) && q.dim(1) == width,
        "split_heads of ", qkv.shape_text(), " into ", q.shape_text(), ", ", frames, " frames");
  SplitHeads call = describe_heads(qkv.dim(0), frames, split, q, target);
  call.qkv = qkv.data<float>();
  call.qkv_stride = qkv.row_stride();
  cuda::split_heads(call, q.dtype(), current_);
}

void CudaBackend::linear_heads(const Tensor& x, const Linear& qkv, std::int64_t frames, const HeadSplit& split,
                               const Tensor& scratch, const Tensor& q, const KeyValueTarget& target) {
  const auto guard = lock();
  const CudaMatrix& weights = matrix_of(qkv);
  const std::int64_t width = static_cast<std::int64_t>(split.heads) * split.head_dim;
  check(frames > 0 && x.rank() == 2 && x.dim(0) % frames == 0 && x.dim(1) == weights.in() &&
            weights.out() == 3 * width && q.rank() == 2 && q.dim(0) == x.dim(0) && q.dim(1) == width,
        "linear_heads of ", x.shape_text(), " by [", weights.out(), ", ", weights.in(), "] into ", q.shape_text(), ", ",
        frames, " frames");
  HopperProduct call;
  if (q.dtype() == x.dtype() && describe(*this, x, qkv, call)) {
    call.epilogue = HeadsEpilogue{describe_heads(x.dim(0), frames, split, q, target)};
    if (hopper_product_supports(call)) {
      hopper_product(call, current_);
      return;
    }
  }
  Backend::linear_heads(x, qkv, frames, split, scratch, q, target);
}

void CudaBackend::silu(const Tensor& x, const Tensor& y) {
  const auto guard = lock();
  check(x.contiguous() && y.contiguous() && x.elements() == y.elements(), "silu of ", x.shape_text(), " into ",
        y.shape_text());
  cuda::silu(x.data<float>(), y.data<float>(), x.elements(), current_);
}

void CudaBackend::modulate(const Tensor& x, const Tensor& modulation, const Tensor& y) {
  const auto guard = lock();
  const std::int64_t width = x.dim(1);
  check(x.rank() == 2 && modulation.dim(0) == x.dim(0) && modulation.dim(1) == 3 * width && y.dim(0) == x.dim(0) &&
            y.dim(1) == width && x.contiguous() && y.contiguous() && modulation.contiguous(),
        "modulate of ", x.shape_text(), " by ", modulation.shape_text(), " into ", y.shape_text());
  cuda::modulate(x.data<float>(), modulation.data<float>(), y.data<float>(), x.dim(0), width, current_);
}

}  // namespace lingbot_map
