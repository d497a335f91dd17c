#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/cpu_matrix.hpp"

namespace lingbot_map {
namespace {

constexpr std::int64_t kRowsPerTask = 32;

/// Runs body(first row, end row) over blocks of rows.
template <typename Body>
void for_rows(ThreadPool& threads, std::int64_t rows, const Body& body) {
  threads.parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t block, int) {
    body(block * kRowsPerTask, std::min(rows, (block + 1) * kRowsPerTask));
  });
}

constexpr int kMostHeadDims = 256;

/// Where frame `frame` goes in the planes of a target.
struct Place {
  std::int64_t patches;
  std::int64_t specials;
};
Place place_of(const KeyValueTarget& target, std::int64_t frame, std::int64_t tokens) {
  if (target.places.empty()) return {frame * tokens, 0};
  const auto* rows = target.places.data<std::int64_t>() + frame * target.places.row_stride();
  return {rows[0], rows[1]};
}

void check_target(const KeyValueTarget& target, std::int64_t frames, std::int64_t tokens, std::int64_t width) {
  const Tensor& places = target.places;
  check(target.keys.rank() == 2 && target.values.rank() == 2 && target.keys.dim(1) == width &&
            target.values.dim(1) == width && target.keys.dtype() == target.values.dtype() && target.specials >= 0 &&
            target.specials <= tokens && (target.specials == 0 || !places.empty()) &&
            (places.empty() ||
             (places.rank() == 2 && places.dim(0) == frames && places.dim(1) == 2 && places.dtype() == DType::i64)),
        "a target of ", target.specials, " + ", tokens - target.specials, " tokens of ", width, " elements in ",
        target.keys.shape_text(), " and ", target.values.shape_text());
  const std::int64_t rows = std::min(target.keys.dim(0), target.values.dim(0));
  const auto holds = [rows](std::int64_t first, std::int64_t count) {
    return count == 0 || (first >= 0 && first <= rows - count);
  };
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    const Place place = place_of(target, frame, tokens);
    check(holds(place.patches, tokens - target.specials) && holds(place.specials, target.specials), "frame ", frame,
          " at rows ", place.patches, " and ", place.specials, " of ", rows);
  }
}

void check_rotary(const HeadSplit& split, std::int64_t frames, std::int64_t tokens) {
  const Tensor& temporal = split.rotary.temporal;
  const Tensor& spatial = split.rotary.spatial;
  const std::int64_t pairs_in_frame = temporal.empty() ? 0 : temporal.dim(1);
  const std::int64_t pairs_in_token = spatial.empty() ? 0 : spatial.dim(1);
  const std::int64_t pairs = pairs_in_frame + pairs_in_token;
  check(split.head_dim <= kMostHeadDims && (pairs == 0 || 2 * pairs == split.head_dim), "rotary pairs ", pairs_in_frame,
        " + ", pairs_in_token, " for heads of ", split.head_dim);
  check((temporal.empty() || temporal.dim(0) == frames) &&
            (spatial.empty() || spatial.dim(0) == tokens || spatial.dim(0) == 1),
        "rotary tables ", temporal.shape_text(), " and ", spatial.shape_text(), " for ", frames, " frames of ", tokens,
        " tokens");
  check(pairs == 0 || split.rotary.interleaved || split.head_dim % 32 == 0, "heads of ", split.head_dim,
        " in halves of 32");
}

}  // namespace

void CpuBackend::layer_norm(const Tensor& x, const Norm& norm, const Tensor& y) {
  check(x.rank() == 2 && y.rank() == 2 && x.dim(0) == y.dim(0) && x.dim(1) == y.dim(1) && x.dtype() == DType::f32,
        "layer_norm of ", x.shape_text(), " into ", y.shape_text());
  const auto width = static_cast<int>(x.dim(1));
  const auto [weight, bias] = cpu::values(norm, width);
  for_rows(threads_, x.dim(0), [&, weight = weight, bias = bias](std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) {
      const float* from = x.data<float>() + row * x.row_stride();
      if (y.dtype() == DType::bf16) {
        kernels_.layer_norm_bf16(from, width, weight, bias, norm.epsilon, y.data<bf16>() + row * y.row_stride());
      } else {
        kernels_.layer_norm_f32(from, width, weight, bias, norm.epsilon, y.data<float>() + row * y.row_stride());
      }
    }
  });
}

void CpuBackend::linear(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y) {
  const cpu::PackedMatrix& weights = cpu::packed(linear);
  check(x.rank() == 2 && y.rank() == 2 && x.dim(0) == y.dim(0) && x.dim(1) == weights.in && y.dim(1) == weights.out,
        "linear of ", x.shape_text(), " by [", weights.out, ", ", weights.in, "] into ", y.shape_text());
  check(activation != Activation::add_to_target || y.dtype() == DType::f32, "a residual stream of ",
        name_of(y.dtype()));
  check(linear.scale.empty(), "a scaled product, which only 16-bit floats of a GPU need");
  cpu::multiply(kernels_, threads_, cpu::MatrixRows(kernels_, x), x.dim(0), weights,
                {.data = y.raw(),
                 .dtype = y.dtype(),
                 .stride = y.row_stride(),
                 .bias = cpu::bias_of(linear, weights.out),
                 .epilogue = cpu::epilogue_of(activation)});
}

void CpuBackend::split_heads(const Tensor& qkv, std::int64_t frames, const HeadSplit& split, const Tensor& q,
                             const KeyValueTarget& target) {
  const int dim = split.head_dim;
  const std::int64_t width = static_cast<std::int64_t>(split.heads) * dim;
  check(frames > 0 && qkv.rank() == 2 && qkv.dim(0) % frames == 0 && qkv.dim(1) == 3 * width &&
            qkv.dtype() == DType::f32 && q.rank() == 2 && q.dim(0) == qkv.dim(0) && q.dim(1) == width,
        "split_heads of ", qkv.shape_text(), " into ", q.shape_text(), ", ", frames, " frames");
  const std::int64_t tokens = qkv.dim(0) / frames;
  check_target(target, frames, tokens, width);
  check_rotary(split, frames, tokens);
  const Tensor& temporal = split.rotary.temporal;
  const Tensor& spatial = split.rotary.spatial;
  const std::int64_t temporal_pairs = temporal.empty() ? 0 : temporal.dim(1);
  const std::int64_t spatial_pairs = spatial.empty() ? 0 : spatial.dim(1);
  const bool rotates = temporal_pairs + spatial_pairs > 0;

  const auto transform = [dim](const Norm* norm, const float* angles, bool interleaved) {
    const cpu::NormValues values = norm != nullptr ? cpu::values(*norm, dim) : cpu::NormValues();
    return cpu::HeadTransform{.norm_weight = values.weight,
                              .norm_bias = values.bias,
                              .epsilon = norm != nullptr ? norm->epsilon : 0.0F,
                              .cos_sin = angles,
                              .interleaved = interleaved};
  };
  const auto store = [&](const float* x, const cpu::HeadTransform& how, const Tensor& target, std::int64_t row) {
    for (std::int64_t head = 0; head < width; head += dim) {
      if (target.dtype() == DType::bf16) {
        kernels_.head_bf16(x + head, dim, how, target.data<bf16>() + row * target.row_stride() + head);
      } else {
        kernels_.head_f32(x + head, dim, how, target.data<float>() + row * target.row_stride() + head);
      }
    }
  };

  for_rows(threads_, qkv.dim(0), [&](std::int64_t row, std::int64_t end) {
    alignas(64) std::array<float, kMostHeadDims> angles{};
    for (; row < end; ++row) {
      const std::int64_t frame = row / tokens;
      const std::int64_t token = row % tokens;
      if (temporal_pairs > 0) {
        std::memcpy(angles.data(), temporal.data<float>() + frame * temporal.row_stride(),
                    static_cast<std::size_t>(temporal_pairs) * 2 * sizeof(float));
      }
      if (spatial_pairs > 0) {
        std::memcpy(angles.data() + 2 * temporal_pairs,
                    spatial.data<float>() + (spatial.dim(0) == 1 ? 0 : token) * spatial.row_stride(),
                    static_cast<std::size_t>(spatial_pairs) * 2 * sizeof(float));
      }
      const float* rotation = rotates ? angles.data() : nullptr;
      const float* x = qkv.data<float>() + row * qkv.row_stride();
      const Place place = place_of(target, frame, tokens);
      const bool special = token < target.specials;
      const std::int64_t target_row = special ? place.specials + token : place.patches + token - target.specials;
      store(x, transform(split.q_norm, rotation, split.rotary.interleaved), q, row);
      store(x + width, transform(split.k_norm, rotation, split.rotary.interleaved), target.keys, target_row);
      store(x + 2 * width, transform(nullptr, nullptr, false), target.values, target_row);
    }
  });
}

void CpuBackend::silu(const Tensor& x, const Tensor& y) {
  check(x.contiguous() && y.contiguous() && x.elements() == y.elements(), "silu of ", x.shape_text(), " into ",
        y.shape_text());
  const auto count = static_cast<std::size_t>(x.elements());
  const float* from = x.data<float>();
  float* to = y.data<float>();
  for (std::size_t i = 0; i < count; ++i) {
    const float value = from[i];
    const float minus = -value;
    float power = 0;
    kernels_.exp(&minus, 1, &power);
    to[i] = value / (1.0F + power);
  }
}

void CpuBackend::modulate(const Tensor& x, const Tensor& modulation, const Tensor& y) {
  const std::int64_t width = x.dim(1);
  check(x.rank() == 2 && modulation.dim(0) == x.dim(0) && modulation.dim(1) == 3 * width && y.dim(0) == x.dim(0) &&
            y.dim(1) == width,
        "modulate of ", x.shape_text(), " by ", modulation.shape_text(), " into ", y.shape_text());
  constexpr float kEpsilon = 1e-6F;
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    const float* from = x.data<float>() + row * x.row_stride();
    const float* shift = modulation.data<float>() + row * modulation.row_stride();
    const float* scale = shift + width;
    const float* gate = scale + width;
    float* to = y.data<float>() + row * y.row_stride();
    kernels_.layer_norm_f32(from, static_cast<int>(width), nullptr, nullptr, kEpsilon, to);
    for (std::int64_t i = 0; i < width; ++i) to[i] = from[i] + gate[i] * (to[i] * (1.0F + scale[i]) + shift[i]);
  }
}

}  // namespace lingbot_map
