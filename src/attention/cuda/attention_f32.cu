#include <algorithm>
#include <cmath>

#include "attention/cuda/key_parts.hpp"
#include "attention/cuda/tile_copy.cuh"
#include "backend/cuda/check.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

/// How the work of a block is laid out. A warp owns 4 * kRows query rows; of each row 8 lanes hold the scores of every
/// eighth key and kHeadDim / 8 outputs, so that a row never leaves its warp.
template <int kHeadDim_, int kRows_, int kKeys_, int kWarps_>
struct Layout {
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kRows = kRows_;  ///< of a thread
  static constexpr int kKeys = kKeys_;  ///< of a tile
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQueries = 4 * kRows * kWarps;
  static constexpr int kScores = kKeys / 8;
  static constexpr int kQuads = kHeadDim / 32;  ///< float4s of output of a thread and row
  /// Rows of q and k are padded so that 8 lanes reading 8 rows meet 8 different groups of banks.
  static constexpr int kStride = kHeadDim + 4;
  /// Probabilities pass through shared memory 32 keys at a time, which keeps two blocks on a processor.
  static constexpr int kPanel = 32;
  static constexpr int kPanelStride = kPanel + 8;
  static constexpr int kBytes = static_cast<int>(sizeof(float)) *
                                (kQueries * kStride + kKeys * kStride + kKeys * kHeadDim + kQueries * kPanelStride);
  /// After so many tiles the sums move from registers to memory: rounding errors grow with the length of a chain.
  static constexpr int kChain = 512 / kKeys;
};

struct Operands {
  const float* q;
  const float* k;
  const float* v;
  float* out;    ///< the output itself, or partial results [parts, groups * queries, heads, head_dim]
  float2* sums;  ///< of partial results; null with one part
  std::int64_t q_stride;
  std::int64_t kv_stride;
  std::int64_t out_stride;
  std::int64_t queries;
  std::int64_t keys;
  const std::int64_t* range;
  int groups;
  int parts;
  float scale;  ///< of scores, times log2(e)
};

/// Copies rows of one head into a tile, zeros past the valid ones.
template <typename L, int kTileRows, int kTileStride>
__device__ void load_tile(float* tile, const float* source, std::int64_t stride, std::int64_t valid_rows) {
  constexpr int kChunks = L::kHeadDim / 4;
  constexpr int kSteps = kTileRows * kChunks / L::kThreads;
  static_assert(kTileRows * kChunks % L::kThreads == 0);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int index = step * L::kThreads + static_cast<int>(threadIdx.x);
    const int row = index / kChunks;
    const int column = index % kChunks * 4;
    const bool valid = row < valid_rows;
    copy_16_bytes(tile + row * kTileStride + column, source + (valid ? row * stride : 0) + column, valid);
  }
}

template <typename L>
__device__ void multiply_scores(const float* q, const float* k, float (&scores)[L::kRows][L::kScores]) {
#pragma unroll 4
  for (int d = 0; d < L::kHeadDim; d += 4) {
    float4 key[L::kScores];
#pragma unroll
    for (int j = 0; j < L::kScores; ++j) key[j] = *reinterpret_cast<const float4*>(k + 8 * j * L::kStride + d);
#pragma unroll
    for (int i = 0; i < L::kRows; ++i) {
      const float4 query = *reinterpret_cast<const float4*>(q + 4 * i * L::kStride + d);
#pragma unroll
      for (int j = 0; j < L::kScores; ++j) scores[i][j] = fmaf(query.x, key[j].x, scores[i][j]);
#pragma unroll
      for (int j = 0; j < L::kScores; ++j) scores[i][j] = fmaf(query.y, key[j].y, scores[i][j]);
#pragma unroll
      for (int j = 0; j < L::kScores; ++j) scores[i][j] = fmaf(query.z, key[j].z, scores[i][j]);
#pragma unroll
      for (int j = 0; j < L::kScores; ++j) scores[i][j] = fmaf(query.w, key[j].w, scores[i][j]);
    }
  }
}

template <typename L>
__device__ void add_values(const float* panel, const float* v, float4 (&sums)[L::kRows][L::kQuads]) {
#pragma unroll 1
  for (int key = 0; key < L::kPanel; key += 4) {
    float4 value[4][L::kQuads];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int c = 0; c < L::kQuads; ++c) {
        value[e][c] = *reinterpret_cast<const float4*>(v + (key + e) * L::kHeadDim + 32 * c);
      }
    }
#pragma unroll
    for (int i = 0; i < L::kRows; ++i) {
      const float4 four = *reinterpret_cast<const float4*>(panel + 4 * i * L::kPanelStride + key);
      const float weights[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int e = 0; e < 4; ++e) {
#pragma unroll
        for (int c = 0; c < L::kQuads; ++c) {
          sums[i][c].x = fmaf(weights[e], value[e][c].x, sums[i][c].x);
          sums[i][c].y = fmaf(weights[e], value[e][c].y, sums[i][c].y);
          sums[i][c].z = fmaf(weights[e], value[e][c].z, sums[i][c].z);
          sums[i][c].w = fmaf(weights[e], value[e][c].w, sums[i][c].w);
        }
      }
    }
  }
}

template <typename L>
__global__ __launch_bounds__(L::kThreads, 2) void attention_f32_kernel(const Operands call) {
  extern __shared__ float4 shared[];
  float* const q_tile = reinterpret_cast<float*>(shared);
  float* const k_tile = q_tile + L::kQueries * L::kStride;
  float* const v_tile = k_tile + L::kKeys * L::kStride;
  float* const panels = v_tile + L::kKeys * L::kHeadDim;

  const int group = static_cast<int>(blockIdx.z) / call.parts;
  const int part = static_cast<int>(blockIdx.z) % call.parts;
  const int head = static_cast<int>(blockIdx.y);
  const std::int64_t first_query = std::int64_t{blockIdx.x} * L::kQueries;
  const KeyShare share = key_share(call.range, call.keys, group, part, call.parts, L::kKeys);
  const float* const q = call.q + (group * call.queries + first_query) * call.q_stride + head * L::kHeadDim;
  const float* const k = call.k + head * L::kHeadDim;
  const float* const v = call.v + head * L::kHeadDim;

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane_row = static_cast<int>(threadIdx.x) % 32 / 8;
  const int lane_key = static_cast<int>(threadIdx.x) % 8;
  const int tile_row = warp * 4 * L::kRows + lane_row;  // this thread's rows: tile_row + 4 i
  float* const panel = panels + tile_row * L::kPanelStride;

  float top[L::kRows];       // running maxima of scaled scores
  float kept_top[L::kRows];  // those that the sums in memory belong to
  float total[L::kRows];     // of this thread's own keys
  float4 sums[L::kRows][L::kQuads];
#pragma unroll
  for (int i = 0; i < L::kRows; ++i) {
    top[i] = kept_top[i] = -INFINITY;
    total[i] = 0;
#pragma unroll
    for (int c = 0; c < L::kQuads; ++c) sums[i][c] = make_float4(0, 0, 0, 0);
  }

  const std::int64_t out_row = (std::int64_t{part} * call.groups + group) * call.queries + first_query + tile_row;
  float* const out = call.out + out_row * call.out_stride + head * L::kHeadDim + 4 * lane_key;
  const std::int64_t rows_left = call.queries - first_query - tile_row;  // row i exists when 4 i is below
  bool in_memory = false;
  const auto settle_row = [&](int i, float factor) {
    if (4 * i >= rows_left) return;
    const float fade = in_memory ? exp2_fast(kept_top[i] - top[i]) : 0.0f;
#pragma unroll
    for (int c = 0; c < L::kQuads; ++c) {
      auto* const place = reinterpret_cast<float4*>(out + 4 * i * call.out_stride + 32 * c);
      float4 sum = sums[i][c];
      if (in_memory) {
        const float4 kept = *place;
        sum.x = fmaf(kept.x, fade, sum.x);
        sum.y = fmaf(kept.y, fade, sum.y);
        sum.z = fmaf(kept.z, fade, sum.z);
        sum.w = fmaf(kept.w, fade, sum.w);
      }
      *place = make_float4(sum.x * factor, sum.y * factor, sum.z * factor, sum.w * factor);
    }
  };

  if (share.begin < share.end) {
    load_tile<L, L::kQueries, L::kStride>(q_tile, q, call.q_stride, call.queries - first_query);
    load_tile<L, L::kKeys, L::kStride>(k_tile, k + share.begin * call.kv_stride, call.kv_stride,
                                       share.end - share.begin);
  }
  int chain = 0;
  for (std::int64_t begin = share.begin; begin < share.end; begin += L::kKeys) {
    const std::int64_t left = share.end - begin;
    wait_for_copies();
    __syncthreads();  // the keys are there, and nobody needs the last values
    load_tile<L, L::kKeys, L::kHeadDim>(v_tile, v + begin * call.kv_stride, call.kv_stride, left);

    float scores[L::kRows][L::kScores] = {};
    multiply_scores<L>(q_tile + tile_row * L::kStride, k_tile + lane_key * L::kStride, scores);

    wait_for_copies();
    __syncthreads();  // the values are there, and nobody needs these keys
    if (left > L::kKeys) {
      load_tile<L, L::kKeys, L::kStride>(k_tile, k + (begin + L::kKeys) * call.kv_stride, call.kv_stride,
                                         left - L::kKeys);
    } else {
#pragma unroll
      for (int j = 0; j < L::kScores; ++j) {
        if (lane_key + 8 * j < left) continue;
#pragma unroll
        for (int i = 0; i < L::kRows; ++i) scores[i][j] = -INFINITY;
      }
    }

#pragma unroll
    for (int i = 0; i < L::kRows; ++i) {
      float highest = scores[i][0];
#pragma unroll
      for (int j = 1; j < L::kScores; ++j) highest = fmaxf(highest, scores[i][j]);
#pragma unroll
      for (int lanes = 1; lanes < 8; lanes *= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, lanes));
      }
      const float new_top = fmaxf(top[i], highest * call.scale);
      const float fade = exp2_fast(top[i] - new_top);
      top[i] = new_top;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < L::kScores; ++j) {
        scores[i][j] = exp2_fast(fmaf(scores[i][j], call.scale, -new_top));
        sum += scores[i][j];
      }
      total[i] = fmaf(total[i], fade, sum);
#pragma unroll
      for (int c = 0; c < L::kQuads; ++c) {
        sums[i][c].x *= fade;
        sums[i][c].y *= fade;
        sums[i][c].z *= fade;
        sums[i][c].w *= fade;
      }
    }

#pragma unroll
    for (int first_key = 0; first_key < L::kKeys; first_key += L::kPanel) {
      __syncwarp();  // the last panel has been read
#pragma unroll
      for (int i = 0; i < L::kRows; ++i) {
#pragma unroll
        for (int j = 0; j < L::kPanel / 8; ++j) {
          panel[4 * i * L::kPanelStride + lane_key + 8 * j] = scores[i][first_key / 8 + j];
        }
      }
      __syncwarp();
      add_values<L>(panel, v_tile + first_key * L::kHeadDim + 4 * lane_key, sums);
    }

    if (++chain == L::kChain && left > L::kKeys) {
#pragma unroll
      for (int i = 0; i < L::kRows; ++i) {
        settle_row(i, 1.0f);
        kept_top[i] = top[i];
#pragma unroll
        for (int c = 0; c < L::kQuads; ++c) sums[i][c] = make_float4(0, 0, 0, 0);
      }
      in_memory = true;
      chain = 0;
    }
  }

#pragma unroll
  for (int i = 0; i < L::kRows; ++i) {
#pragma unroll
    for (int lanes = 1; lanes < 8; lanes *= 2) total[i] += __shfl_xor_sync(0xffffffffU, total[i], lanes);
    if (call.sums == nullptr) {
      settle_row(i, total[i] == 0.0f ? 0.0f : 1.0f / total[i]);
    } else {
      settle_row(i, 1.0f);
      if (lane_key == 0 && 4 * i < rows_left) {
        call.sums[(out_row + 4 * i) * gridDim.y + head] = make_float2(top[i], total[i]);
      }
    }
  }
}

template <typename L>
int parts_with(const AttentionCall& call, const DeviceLimits& limits) {
  constexpr std::int64_t kFewestTiles = 4;  // of a part: less is not worth putting together
  const std::int64_t tiles = (call.queries + L::kQueries - 1) / L::kQueries;
  const int resident = std::clamp(limits.shared_per_processor / (L::kBytes + 1024), 1, 2);
  const std::int64_t most = (call.keys + L::kKeys * kFewestTiles - 1) / (L::kKeys * kFewestTiles);
  return parts_of_keys(tiles * call.heads * call.groups, std::int64_t{limits.processors} * resident, most);
}

template <typename L>
void launch(const AttentionCall& call, int parts, cudaStream_t stream) {
  const std::int64_t tiles = (call.queries + L::kQueries - 1) / L::kQueries;
  check(call.heads <= 65535 && std::int64_t{call.groups} * parts <= 65535, "attention_f32: too many heads or groups");
  const PartialResults partial = partial_results(call, parts);
  const Operands operands{
      .q = static_cast<const float*>(call.q),
      .k = static_cast<const float*>(call.k),
      .v = static_cast<const float*>(call.v),
      .out = parts > 1 ? partial.outputs : static_cast<float*>(call.out),
      .sums = partial.sums,
      .q_stride = call.q_stride,
      .kv_stride = call.kv_stride,
      .out_stride = parts > 1 ? std::int64_t{call.heads} * call.head_dim : call.out_stride,
      .queries = call.queries,
      .keys = call.keys,
      .range = call.range,
      .groups = call.groups,
      .parts = parts,
      .scale = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(call.head_dim))),
  };
  check_cuda(cudaFuncSetAttribute(attention_f32_kernel<L>, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes),
             "shared memory of attention_f32");
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(call.heads),
                  static_cast<unsigned>(call.groups * parts));
  attention_f32_kernel<L><<<grid, L::kThreads, L::kBytes, stream>>>(operands);
  check_launch("attention_f32");
  if (parts > 1) combine_parts(call, partial, parts, stream);
}

/// Calls work.template operator()<Layout>() with the layout for a head size on a device.
template <typename Work>
auto with_layout(const AttentionCall& call, const DeviceLimits& limits, const Work& work) {
  const auto fitting = [&]<typename Wide, typename Narrow>() {
    return limits.shared_per_block >= Wide::kBytes ? work.template operator()<Wide>()
                                                   : work.template operator()<Narrow>();
  };
  if (call.head_dim == 32) return fitting.template operator()<Layout<32, 8, 64, 4>, Layout<32, 8, 64, 2>>();
  if (call.head_dim == 64) return fitting.template operator()<Layout<64, 8, 64, 4>, Layout<64, 8, 64, 2>>();
  check(call.head_dim == 128, "attention_f32: head_dim ", call.head_dim, ", expected 32, 64 or 128");
  return fitting.template operator()<Layout<128, 4, 32, 4>, Layout<128, 4, 32, 2>>();
}

}  // namespace

std::size_t attention_f32_workspace(const AttentionCall& call) {
  const DeviceLimits limits = device_limits();
  return with_layout(call, limits, [&]<typename L>() { return partial_bytes(call, parts_with<L>(call, limits)); });
}

void attention_f32(const AttentionCall& call, cudaStream_t stream) {
  check_call(call, "attention_f32");
  check(call.dtype == DType::f32, "attention_f32: inputs of type ", static_cast<int>(call.dtype), ", expected float32");
  const DeviceLimits limits = device_limits();
  with_layout(call, limits, [&]<typename L>() { launch<L>(call, parts_with<L>(call, limits), stream); });
}

}  // namespace lingbot_map::cuda
