#pragma once

#include <cmath>
#include <cstdint>

#include "attention/cuda/hopper_attention_layout.cuh"
#include "attention/cuda/hopper_instructions.cuh"

namespace lingbot_map::cuda::hopper {

__device__ __forceinline__ float exp2_unit(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// One warpgroup's 64 queries. A thread has rows r and r + 8, r = 16 * warp + lane / 4, and of every 8 columns the two
/// at 2 * (lane % 4): element 4 i + 2 (row is r + 8) + (column is odd) of an array belongs to columns 8 i ...
///
/// Products are issued a tile ahead: the next tile's scores, then this tile's weights times values. They are waited for
/// as late as possible: the weights when their registers are needed a tile later, the scores when their tile begins.
///
/// The unit for exponentials takes long to answer and two warps share it: a warp keeps it busy only when many
/// exponentials are under way. The assembler would use each result two exponentials later, so batches are kept apart.
template <typename Element, typename Tuned>
struct QueryRows {
  static constexpr int kBatch = Tuned::batch;
  static constexpr float kScale = 0.125F * 1.44269504088896340736F;
  /// What a thread's weights of a tile may sum up to: far from the type's largest number.
  static constexpr float kLimit = std::is_same_v<Element, __nv_bfloat16> ? 1073741824.0F : 16384.0F;
  using At = Layout<Tuned::stages>;

  float out[32];
  std::uint32_t weights[32];
  float shift[2];         ///< minus the maximum, in base 2
  float sum[2] = {0, 0};  ///< of this thread's columns
  std::uint32_t memory;
  int warpgroup;
  int lane;
  Stage<Tuned::stages> stage;  ///< of the tile that step() works on
  int last_index = 0;          ///< of the tile before
  int valid_in_first;

  __device__ __forceinline__ void release(std::uint32_t empty, int index) const {
    if (lane < Tuned::cluster) {
      barrier_arrive(memory + empty + index * 8, lane);
    }
  }

  /// Issues q k^T for the tile at `index`.
  __device__ __forceinline__ void issue_scores(float (&scores)[64], int index) {
    const std::uint64_t keys = tile_descriptor(memory + At::kKeys + index * kTileBytes);
    const std::uint64_t rows = tile_descriptor(memory + At::kQueries + warpgroup * kWarpgroupBytes);
    product_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      multiply_64x128<Element>(scores, rows + 2 * k, keys + 2 * k, k == 0 ? 0 : 1);
    }
    product_commit();
  }

  __device__ __forceinline__ void hide(float (&scores)[64], int valid) const {
    if (valid < kKeyTile) {
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        scores[i] = column < valid ? scores[i] : -INFINITY;
      }
    }
  }

  /// The first tile: hides columns from `valid` on and takes the maximum.
  __device__ __forceinline__ void begin(float (&scores)[64], int valid) {
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      pin(scores[i]);
    }
    hide(scores, valid);
    float largest[2];
    row_maximum(scores, largest);
    shift[0] = -largest[0] * kScale;
    shift[1] = -largest[1] * kScale;
#pragma unroll
    for (float& value : out) {
      value = 0;
    }
  }

  __device__ __forceinline__ static void row_maximum(const float (&scores)[64], float (&largest)[2]) {
    largest[0] = largest[1] = -INFINITY;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], scores[i]);
    }
#pragma unroll
    for (float& value : largest) {
      value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFF, value, 1));
      value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFF, value, 2));
    }
  }

  /// The exponents of a batch take the place of its scores.
  template <int batch>
  __device__ __forceinline__ void prepare(float (&scores)[64]) const {
#pragma unroll
    for (int i = batch * kBatch; i < (batch + 1) * kBatch; ++i) {
      scores[i] = fmaf(scores[i], kScale, shift[i / 2 % 2]);
    }
    if constexpr (batch > 0) {
#pragma unroll
      for (int i = batch * kBatch; i < (batch + 1) * kBatch; ++i) {
        pin(scores[i]);
      }
    }
  }

  /// Starts a batch of exponentials, in place.
  template <int batch>
  __device__ __forceinline__ void start(float (&scores)[64]) const {
#pragma unroll
    for (int i = batch * kBatch; i < (batch + 1) * kBatch; ++i) {
      scores[i] = exp2_unit(scores[i]);
    }
    if constexpr ((batch + 1) * kBatch < 64) {
      prepare<batch + 1>(scores);
    }
  }

  /// Makes weights of a batch, adds them up.
  template <int batch>
  __device__ __forceinline__ void finish(const float (&powers)[64], float (&parts)[4]) {
#pragma unroll
    for (int i = batch * kBatch; i < (batch + 1) * kBatch; i += 2) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& part = parts[i / 2 % 2 * 2 + e];
        part = i < 4 ? powers[i + e] : part + powers[i + e];
      }
      weights[i / 2] = pack<Element>(powers[i], powers[i + 1]);
      pin(weights[i / 2]);
    }
  }

  /// Every batch but the first, which is under way, each before the results of the one before are used.
  template <int batch>
  __device__ __forceinline__ void go_on(float (&scores)[64], float (&parts)[4]) {
    if constexpr (batch * kBatch < 64) {
      start<batch>(scores);
      finish<batch - 1>(scores, parts);
      keep_apart();
      go_on<batch + 1>(scores, parts);
    } else {
      finish<batch - 1>(scores, parts);
    }
  }

  /// q k^T of this tile once more, by a warp alone.
  __device__ __forceinline__ void compute_scores(float (&scores)[64]) const {
    const int corner = lane / 4;
    const auto chunk_address = [&](std::uint32_t rows, int chunk) {  // 8 columns of row `corner` of 8 swizzled rows
      return rows + corner * kRowBytes + ((chunk ^ corner) * 16) + lane % 4 * 4;
    };
    const std::uint32_t rows =
        memory + At::kQueries + warpgroup * kWarpgroupBytes + threadIdx.x % 128 / 32 * (16 * kRowBytes);
    std::uint32_t q[16];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        q[4 * k + i] = load_shared(chunk_address(rows + i % 2 * (8 * kRowBytes), 2 * k + i / 2));
      }
    }
    const std::uint32_t keys = memory + At::kKeys + stage.index * kTileBytes;
#pragma unroll
    for (int n = 0; n < 16; ++n) {
      float four[4] = {0, 0, 0, 0};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const std::uint32_t low = load_shared(chunk_address(keys + n * (8 * kRowBytes), 2 * k));
        const std::uint32_t high = load_shared(chunk_address(keys + n * (8 * kRowBytes), 2 * k + 1));
        multiply_16x8<Element>(four, q + 4 * k, low, high);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[4 * n + i] = four[i];
      }
    }
  }

  /// Some weight is too large (or no number): takes the maximum of the tile, whose scores are computed again, into
  /// account.
  __device__ __forceinline__ void raise(float (&scores)[64], float (&parts)[4], int valid) {
    product_wait<0>();
    compute_scores(scores);
    hide(scores, valid);
#pragma unroll
    for (float& value : out) {
      pin(value);
    }
    float largest[2];
    row_maximum(scores, largest);
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float raised = fminf(shift[r], -largest[r] * kScale);
      factor[r] = exp2_unit(raised - shift[r]);
      shift[r] = raised;
      sum[r] *= factor[r];
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      out[i] *= factor[i / 2 % 2];
    }
    prepare<0>(scores);
    start<0>(scores);
    go_on<1>(scores, parts);
  }

  /// One tile, whose scores are on their way; sends for those of the next.
  template <bool has_next>
  __device__ __forceinline__ void step(float (&scores)[64], float (&next)[64], bool is_first) {
    if constexpr (has_next) {
      const Stage<Tuned::stages> following = stage.next();
      barrier_wait(memory + At::kKeysFull + following.index * 8, following.parity);
      issue_scores(next, following.index);
    }
    constexpr int kNext = has_next ? 1 : 0;  // groups of products
    product_wait<kNext + (Tuned::early ? 1 : 0)>();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      pin(scores[i]);
    }
    float parts[4];
    prepare<0>(scores);
    start<0>(scores);
    if constexpr (kBatch < 64) {
      keep_apart();
    }
    if constexpr (Tuned::early) {
      product_wait<kNext>();
    }
    if (!is_first) {
      release(At::kValuesEmpty, last_index);
    }
    go_on<1>(scores, parts);
    if (__any_sync(0xFFFFFFFF, !(parts[0] + parts[1] <= kLimit && parts[2] + parts[3] <= kLimit))) {
      raise(scores, parts, is_first ? valid_in_first : kKeyTile);
    }
    release(At::kKeysEmpty, stage.index);
    sum[0] += parts[0] + parts[1];
    sum[1] += parts[2] + parts[3];

    barrier_wait(memory + At::kValuesFull + stage.index * 8, stage.parity);
    const std::uint64_t values = tile_descriptor(memory + At::kValues + stage.index * kTileBytes);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      pin(weights[i]);
    }
    product_fence();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      multiply_64x64<Element>(out, weights + 4 * k, values + k * (16 * kRowBytes >> 4), 1);
    }
    product_commit();
    last_index = stage.index;
    stage = stage.next();
  }

  /// All tiles: leaves sums over all keys, not divided, in `out` and sums of the whole row in `sum`.
  __device__ __forceinline__ void attend(const KeyTiles& tiles) {
    barrier_wait(memory + At::kQueriesFull, 0);
    float even[64];
    float odd[64];
    barrier_wait(memory + At::kKeysFull, 0);
    issue_scores(even, 0);
    product_wait<0>();
    valid_in_first = tiles.valid_in_last;
    begin(even, valid_in_first);
    int n = 0;
    for (; n + 2 < tiles.count; n += 2) {
      step<true>(even, odd, n == 0);
      step<true>(odd, even, false);
    }
    if (n + 2 == tiles.count) {
      step<true>(even, odd, n == 0);
      step<false>(odd, even, false);
    } else {
      step<false>(even, odd, n == 0);
    }
    product_wait<0>();
#pragma unroll
    for (float& value : out) {
      pin(value);
    }
#pragma unroll
    for (float& value : sum) {
      value += __shfl_xor_sync(0xFFFFFFFF, value, 1);
      value += __shfl_xor_sync(0xFFFFFFFF, value, 2);
    }
  }

  __device__ __forceinline__ void nothing() {
    shift[0] = shift[1] = INFINITY;
#pragma unroll
    for (float& value : out) {
      value = 0;
    }
  }

  /// Divides and writes through this warpgroup's queries in shared memory, which nobody needs any more.
  __device__ __forceinline__ void write(const CUtensorMap* out_map, int head, int row, int queries_in_all, int group) {
    const std::uint32_t staging = memory + At::kQueries + warpgroup * kWarpgroupBytes;
    warpgroup_sync(1 + warpgroup);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int local = (threadIdx.x % 128) / 32 * 16 + lane / 4 + 8 * r;
      const float inverse = sum[r] == 0 ? 0.0F : 1.0F / sum[r];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t both = pack<Element>(out[4 * i + 2 * r] * inverse, out[4 * i + 2 * r + 1] * inverse);
        const std::uint32_t address = staging + local * kRowBytes + (i ^ (local % 8)) * 16 + lane % 4 * 4;
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(both) : "memory");
      }
    }
    copy_engine_fence();
    warpgroup_sync(1 + warpgroup);
    row += warpgroup * 64;
    if (threadIdx.x % 128 == 0 && row < queries_in_all) {
      store_box(out_map, staging, head * kHeadDim, row, group);
    }
  }

  __device__ __forceinline__ void write_partial(const Work& work) const {
    const std::int64_t block = blockIdx.x + gridDim.x * (blockIdx.y + std::int64_t{gridDim.y} * blockIdx.z);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t row = block * kQueryTile + warpgroup * 64 + (threadIdx.x % 128) / 32 * 16 + lane / 4 + 8 * r;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float* target = work.partial_out + row * kHeadDim + 8 * i + lane % 4 * 2;
        *reinterpret_cast<float2*>(target) = make_float2(out[4 * i + 2 * r], out[4 * i + 2 * r + 1]);
      }
      if (lane % 4 == 0) {
        work.partial_sum[row] = make_float2(-shift[r], sum[r]);
      }
    }
  }
};

}  // namespace lingbot_map::cuda::hopper
