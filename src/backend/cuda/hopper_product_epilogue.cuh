#pragma once

#include <cstdint>

#include "backend/cuda/hopper_product_instructions.cuh"
#include "backend/cuda/hopper_product_layout.cuh"

// What becomes of a warp's sums in 64 columns before they are written in 16 bits.

namespace lingbot_map::cuda::hopper_gemm {

__device__ __forceinline__ float gelu(float x) {
  // x Phi(x) = max(x, 0) - |x| Phi(-|x|), and log2 Phi(-a) is close to a polynomial. Its coefficients minimise the
  // largest error of the result: 5.1e-8, 7.1e-8 with rounding. Past 8 the product is below 1e-14.
  const float a = fminf(fabsf(x), 8.0F);
  float exponent = 3.309282329e-5F;
  exponent = fmaf(exponent, a, -7.692197687e-4F);
  exponent = fmaf(exponent, a, 8.080717176e-3F);
  exponent = fmaf(exponent, a, -5.341210589e-2F);
  exponent = fmaf(exponent, a, -4.587709606e-1F);
  exponent = fmaf(exponent, a, -1.151201725F);
  exponent = fmaf(exponent, a, -9.999930859e-1F);
  float tail;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(tail) : "f"(exponent));
  float positive;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(positive) : "f"(x));
  return fmaf(-a, tail, positive);
}

/// Rounds a warp's 16 rows of 64 columns and writes them in lines of 128 bytes; target(n) is where row 4 n + lane / 8
/// begins, null for nowhere. `values` are held as in Sums.
template <typename Element, typename Target>
__device__ __forceinline__ void store_lines(const float* values, std::uint32_t lines, int lane, const Target& target) {
  __syncwarp();  // the lines before have been read
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const std::uint32_t four[4] = {
        pack<Element>(values[4 * i], values[4 * i + 1]), pack<Element>(values[4 * i + 2], values[4 * i + 3]),
        pack<Element>(values[4 * i + 4], values[4 * i + 5]), pack<Element>(values[4 * i + 6], values[4 * i + 7])};
    const int row = lane % 16;
    const int chunk = i + lane / 16;
    store_matrices(lines + row * kLineBytes + (chunk ^ (row % 8)) * 16, four);
  }
  __syncwarp();
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const int row = 4 * n + lane / 8;
    const int chunk = lane % 8;
    const uint4 value = load_shared(lines + row * kLineBytes + (chunk ^ (row % 8)) * 16);
    Element* const to = target(n);
    if (to != nullptr) {
      reinterpret_cast<uint4*>(to)[chunk] = value;
    }
  }
}

/// Two rows of a thread as q, k and v heads.
template <typename Tuned>
struct HeadRows {
  using Element = typename Tuned::Element;
  float2 angles[2][8];      ///< of the pairs of a head in the thread's columns: (cos, sin)
  std::int64_t targets[4];  ///< rows of keys and values for store_lines()

  /// `row` of the thread's first row, `first` of its warp's.
  __device__ __forceinline__ void load(const SplitHeads& heads, int rows, int first, int lane) {
    const int tokens = static_cast<int>(heads.tokens);
    if (heads.temporal_pairs + heads.spatial_pairs > 0) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = min(first + lane / 4 + 8 * r, rows - 1);
        const int frame = row / tokens;
        const int spatial_row = heads.one_spatial_row ? 0 : row - frame * tokens;
        const float2* temporal =
            reinterpret_cast<const float2*>(heads.temporal) + static_cast<std::int64_t>(frame) * heads.temporal_pairs;
        const float2* spatial = reinterpret_cast<const float2*>(heads.spatial) +
                                static_cast<std::int64_t>(spatial_row) * heads.spatial_pairs - heads.temporal_pairs;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int interleaved = 4 * n + lane % 4;
          const int halved = n / 4 * 16 + n / 2 % 2 * 8 + lane % 4 * 2 + n % 2;
          const int pair = heads.interleaved ? interleaved : halved;
          angles[r][n] = (pair < heads.temporal_pairs ? temporal : spatial)[pair];
        }
      }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int row = min(first + 4 * n + lane / 8, rows - 1);
      targets[n] = row;
      if (heads.places != nullptr) {
        const int frame = row / tokens;
        const int token = row - frame * tokens;
        targets[n] = token < heads.specials ? heads.places[2 * frame + 1] + token
                                            : heads.places[2 * frame] + token - heads.specials;
      }
    }
  }

  /// LayerNorm over the head, whose 64 columns four neighbouring lanes hold. `norm`: 64 weights, 64 biases.
  __device__ __forceinline__ static void normalise(float* values, const float* norm, float epsilon, int lane) {
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum += values[4 * i + 2 * r] + values[4 * i + 2 * r + 1];
      }
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, 2);
      const float mean = sum / kHeadDim;
      float squares = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& value = values[4 * i + 2 * r + e];
          value -= mean;
          squares += value * value;
        }
      }
      squares += __shfl_xor_sync(0xFFFFFFFF, squares, 1);
      squares += __shfl_xor_sync(0xFFFFFFFF, squares, 2);
      inverse[r] = 1.0F / sqrtf(squares / kHeadDim + epsilon);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 weight = *reinterpret_cast<const float2*>(norm + 8 * i + lane % 4 * 2);
      const float2 bias = *reinterpret_cast<const float2*>(norm + kHeadDim + 8 * i + lane % 4 * 2);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        values[4 * i + 2 * r] = values[4 * i + 2 * r] * inverse[r] * weight.x + bias.x;
        values[4 * i + 2 * r + 1] = values[4 * i + 2 * r + 1] * inverse[r] * weight.y + bias.y;
      }
    }
  }

  __device__ __forceinline__ static void turn(float& first, float& second, float2 angle) {
    const float x = first;
    const float y = second;
    first = x * angle.x - y * angle.y;
    second = x * angle.y + y * angle.x;
  }

  __device__ __forceinline__ void turn(float* values, bool interleaved) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (interleaved) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          turn(values[4 * i + 2 * r], values[4 * i + 2 * r + 1], angles[r][i]);
        }
      } else {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int at = n / 4 * 16 + n / 2 % 2 * 4 + 2 * r + n % 2;
          turn(values[at], values[at + 8], angles[r][n]);
        }
      }
    }
  }

  /// The head in columns [column, column + 64) of the product.
  __device__ __forceinline__ void finish(float* values, const SplitHeads& heads, const float* norms, int column,
                                         std::uint32_t lines, int rows, int first, int lane) const {
    const int kind = column / kHeadDim / heads.heads;  // q, k, v
    const int offset = column - kind * heads.heads * kHeadDim;
    if (kind == 0 ? heads.q_weight != nullptr : kind == 1 && heads.k_weight != nullptr) {
      normalise(values, norms + kind * 2 * kHeadDim, kind == 0 ? heads.q_epsilon : heads.k_epsilon, lane);
    }
    if (kind < 2 && heads.temporal_pairs + heads.spatial_pairs > 0) {
      turn(values, heads.interleaved);
    }
    void* const plane = kind == 0 ? heads.q : kind == 1 ? heads.keys : heads.values;
    const std::int64_t stride = kind == 0 ? heads.q_stride : kind == 1 ? heads.keys_stride : heads.values_stride;
    store_lines<Element>(values, lines, lane, [&](int n) -> Element* {
      const int row = first + 4 * n + lane / 8;
      const std::int64_t target = kind == 0 ? row : targets[n];
      return row < rows ? static_cast<Element*>(plane) + target * stride + offset : nullptr;
    });
  }
};

}  // namespace lingbot_map::cuda::hopper_gemm
