#include <algorithm>
#include <cmath>

#include "attention/cuda/key_parts.hpp"
#include "attention/cuda/matrix_units.cuh"
#include "attention/cuda/tile_copy.cuh"
#include "backend/cuda/check.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

/// A warp owns 16 * kRowTiles query rows: two row tiles halve what it reads from shared memory per product, where the
/// registers allow.
template <typename Element_, int kHeadDim_, int kRowTiles_>
struct Layout {
  using Element = Element_;
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kRowTiles = kRowTiles_;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQueries = 16 * kRowTiles * kWarps;
  static constexpr int kKeys = 64;              ///< of a tile
  static constexpr int kChunks = kHeadDim / 8;  ///< of 16 bytes in a row
  static constexpr int kTileBytes = kKeys * kHeadDim * 2;
  static constexpr int kBytes = 4 * kTileBytes;  ///< two stages of keys and values
  static constexpr int kSteps = kHeadDim / 16;   ///< products in depth for a score
  static constexpr int kKeyTiles = kKeys / 8;
  static constexpr int kOutTiles = kHeadDim / 8;

  /// Where a chunk of a row lies in a tile: turned about so that 8 rows of one chunk meet different banks.
  static __device__ unsigned offset(int row, int chunk) {
    const int turn = kChunks >= 8 ? row & 7 : (row >> 1) & 3;
    return static_cast<unsigned>((row * kChunks + (chunk ^ turn)) * 16);
  }
};

struct Operands {
  const void* q;
  const void* k;
  const void* v;
  void* out;  ///< used when `partial` is empty
  PartialResults partial;
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
template <typename L>
__device__ void load_tile(std::byte* tile, const typename L::Element* source, std::int64_t stride,
                          std::int64_t valid_rows) {
  constexpr int kSteps = L::kKeys * L::kChunks / L::kThreads;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int index = step * L::kThreads + static_cast<int>(threadIdx.x);
    const int row = index / L::kChunks;
    const int chunk = index % L::kChunks;
    const bool valid = row < valid_rows;
    copy_16_bytes(tile + L::offset(row, chunk), source + (valid ? row * stride : 0) + chunk * 8, valid);
  }
}

/// This warp's queries as operand A, straight from memory: they are read once.
template <typename L>
__device__ void load_queries(const typename L::Element* q, std::int64_t stride, std::int64_t valid_rows,
                             std::uint32_t (&queries)[L::kRowTiles][L::kSteps][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int tile = 0; tile < L::kRowTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = tile * 16 + half * 8 + lane / 4;
      const bool valid = row < valid_rows;
      const auto* const source = reinterpret_cast<const std::uint32_t*>(q + (valid ? row * stride : 0) + lane % 4 * 2);
#pragma unroll
      for (int step = 0; step < L::kSteps; ++step) {
        queries[tile][step][half] = valid ? source[step * 8] : 0;
        queries[tile][step][half + 2] = valid ? source[step * 8 + 4] : 0;
      }
    }
  }
}

template <typename L>
__device__ void multiply_scores(const std::uint32_t (&queries)[L::kRowTiles][L::kSteps][4], unsigned tile,
                                float (&scores)[L::kRowTiles][L::kKeyTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = lane % 8 + lane / 16 * 8;
  const int chunk = lane / 8 % 2;
#pragma unroll
  for (int step = 0; step < L::kSteps; ++step) {
#pragma unroll
    for (int pair = 0; pair < L::kKeyTiles / 2; ++pair) {
      std::uint32_t keys[4];
      load_matrices(keys, tile + L::offset(pair * 16 + row, step * 2 + chunk));
#pragma unroll
      for (int i = 0; i < L::kRowTiles; ++i) {
        multiply_add(scores[i][2 * pair], queries[i][step], keys[0], keys[1], typename L::Element{});
        multiply_add(scores[i][2 * pair + 1], queries[i][step], keys[2], keys[3], typename L::Element{});
      }
    }
  }
}

template <typename L>
__device__ void add_values(const float (&weights)[L::kRowTiles][L::kKeyTiles][4], unsigned tile,
                           float (&sums)[L::kRowTiles][L::kOutTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = lane % 16;
  const int chunk = lane / 16;
#pragma unroll
  for (int step = 0; step < L::kKeys / 16; ++step) {
    std::uint32_t rounded[L::kRowTiles][4];
#pragma unroll
    for (int i = 0; i < L::kRowTiles; ++i) {
      // Scores as they come out of a product are already where the next product wants its operand A.
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const two = &weights[i][2 * step + j / 2][j % 2 * 2];
        rounded[i][j] = pair_of(two[0], two[1], typename L::Element{});
      }
    }
#pragma unroll
    for (int pair = 0; pair < L::kOutTiles / 2; ++pair) {
      std::uint32_t values[4];
      load_matrices_transposed(values, tile + L::offset(step * 16 + row, pair * 2 + chunk));
#pragma unroll
      for (int i = 0; i < L::kRowTiles; ++i) {
        multiply_add(sums[i][2 * pair], rounded[i], values[0], values[1], typename L::Element{});
        multiply_add(sums[i][2 * pair + 1], rounded[i], values[2], values[3], typename L::Element{});
      }
    }
  }
}

template <typename L>
__global__ __launch_bounds__(L::kThreads, 2) void attention_16bit_kernel(const Operands call) {
  using Element = typename L::Element;
  // Maxima are followed only when they have grown by more than this power of two: weights stay below 2^8, and most
  // tiles leave the sums as they are.
  constexpr float kSlack = 8.0f;
  extern __shared__ uint4 shared[];
  auto* const tiles = reinterpret_cast<std::byte*>(shared);  // k of stage 0, v of stage 0, k of stage 1, v of stage 1
  const auto tiles_address = static_cast<unsigned>(__cvta_generic_to_shared(shared));

  const int group = static_cast<int>(blockIdx.z) / call.parts;
  const int part = static_cast<int>(blockIdx.z) % call.parts;
  const int head = static_cast<int>(blockIdx.y);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_query = std::int64_t{blockIdx.x} * L::kQueries + warp * 16 * L::kRowTiles;  // of the warp
  const KeyShare share = key_share(call.range, call.keys, group, part, call.parts, L::kKeys);
  const auto* const k = static_cast<const Element*>(call.k) + head * L::kHeadDim;
  const auto* const v = static_cast<const Element*>(call.v) + head * L::kHeadDim;
  const auto load_stage = [&](std::int64_t begin, int stage) {
    std::byte* const target = tiles + stage * 2 * L::kTileBytes;
    load_tile<L>(target, k + begin * call.kv_stride, call.kv_stride, share.end - begin);
    load_tile<L>(target + L::kTileBytes, v + begin * call.kv_stride, call.kv_stride, share.end - begin);
  };
  if (share.begin < share.end) load_stage(share.begin, 0);

  std::uint32_t queries[L::kRowTiles][L::kSteps][4];
  const std::int64_t valid_queries = call.queries - first_query;
  const std::int64_t q_row = group * call.queries + (valid_queries > 0 ? first_query : 0);
  load_queries<L>(static_cast<const Element*>(call.q) + q_row * call.q_stride + head * L::kHeadDim, call.q_stride,
                  valid_queries, queries);

  float top[L::kRowTiles][2];    // what weights are relative to, in scaled scores
  float total[L::kRowTiles][2];  // of this thread's own keys
  float sums[L::kRowTiles][L::kOutTiles][4] = {};
#pragma unroll
  for (int i = 0; i < L::kRowTiles; ++i) {
    top[i][0] = top[i][1] = -INFINITY;
    total[i][0] = total[i][1] = 0;
  }

  int stage = 0;
  for (std::int64_t begin = share.begin; begin < share.end; begin += L::kKeys, stage ^= 1) {
    const std::int64_t left = share.end - begin;
    wait_for_copies();
    __syncthreads();  // this stage is there, and nobody needs the other one
    if (left > L::kKeys) load_stage(begin + L::kKeys, stage ^ 1);
    const unsigned tile = tiles_address + static_cast<unsigned>(stage * 2 * L::kTileBytes);

    float scores[L::kRowTiles][L::kKeyTiles][4] = {};
    multiply_scores<L>(queries, tile, scores);
    if (left < L::kKeys) {
#pragma unroll
      for (int j = 0; j < L::kKeyTiles; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (8 * j + lane % 4 * 2 + e % 2 < left) continue;
#pragma unroll
          for (int i = 0; i < L::kRowTiles; ++i) scores[i][j][e] = -INFINITY;
        }
      }
    }

#pragma unroll
    for (int i = 0; i < L::kRowTiles; ++i) {
      float fade[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float highest = -INFINITY;
#pragma unroll
        for (int j = 0; j < L::kKeyTiles; ++j) {
          highest = fmaxf(highest, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
        }
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, 1));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, 2)) * call.scale;
        const float new_top = highest > top[i][half] + kSlack ? highest : top[i][half];
        fade[half] = exp2_fast(top[i][half] - new_top);
        top[i][half] = new_top;
        float sum = 0;
#pragma unroll
        for (int j = 0; j < L::kKeyTiles; ++j) {
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            scores[i][j][e] = exp2_fast(fmaf(scores[i][j][e], call.scale, -new_top));
            sum += scores[i][j][e];
          }
        }
        total[i][half] = fmaf(total[i][half], fade[half], sum);
      }
      if (__any_sync(0xffffffffU, fade[0] != 1.0f || fade[1] != 1.0f)) {
#pragma unroll
        for (int j = 0; j < L::kOutTiles; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[i][j][e] *= fade[e / 2];
        }
      }
    }
    add_values<L>(scores, tile + L::kTileBytes, sums);
  }

#pragma unroll
  for (int i = 0; i < L::kRowTiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float all = total[i][half];
      all += __shfl_xor_sync(0xffffffffU, all, 1);
      all += __shfl_xor_sync(0xffffffffU, all, 2);
      const std::int64_t row = first_query + i * 16 + half * 8 + lane / 4;
      if (row >= call.queries) continue;
      const int column = lane % 4 * 2;
      if (call.parts == 1) {
        const float inverse = all == 0.0f ? 0.0f : 1.0f / all;
        auto* const out = static_cast<Element*>(call.out) + (group * call.queries + row) * call.out_stride +
                          head * L::kHeadDim + column;
#pragma unroll
        for (int j = 0; j < L::kOutTiles; ++j) {
          *reinterpret_cast<std::uint32_t*>(out + 8 * j) =
              pair_of(sums[i][j][2 * half] * inverse, sums[i][j][2 * half + 1] * inverse, Element{});
        }
      } else {
        const std::int64_t place = ((std::int64_t{part} * call.groups + group) * call.queries + row) * gridDim.y + head;
        float* const out = call.partial.outputs + place * L::kHeadDim + column;
#pragma unroll
        for (int j = 0; j < L::kOutTiles; ++j) {
          *reinterpret_cast<float2*>(out + 8 * j) = make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
        }
        if (lane % 4 == 0) call.partial.sums[place] = make_float2(top[i][half], all);
      }
    }
  }
}

template <typename L>
int parts_with(const AttentionCall& call) {
  constexpr std::int64_t kFewestTiles = 8;  // of a part: less is not worth putting together
  const DeviceLimits limits = device_limits();
  const std::int64_t tiles = (call.queries + L::kQueries - 1) / L::kQueries;
  const int resident = std::clamp(limits.shared_per_processor / (L::kBytes + 1024), 1, 2);
  const std::int64_t most = (call.keys + L::kKeys * kFewestTiles - 1) / (L::kKeys * kFewestTiles);
  return parts_of_keys(tiles * call.heads * call.groups, std::int64_t{limits.processors} * resident, most);
}

template <typename L>
void launch(const AttentionCall& call, cudaStream_t stream) {
  const int parts = parts_with<L>(call);
  const std::int64_t tiles = (call.queries + L::kQueries - 1) / L::kQueries;
  check(call.heads <= 65535 && std::int64_t{call.groups} * parts <= 65535, "attention_16bit: too many heads or groups");
  const Operands operands{
      .q = call.q,
      .k = call.k,
      .v = call.v,
      .out = call.out,
      .partial = partial_results(call, parts),
      .q_stride = call.q_stride,
      .kv_stride = call.kv_stride,
      .out_stride = call.out_stride,
      .queries = call.queries,
      .keys = call.keys,
      .range = call.range,
      .groups = call.groups,
      .parts = parts,
      .scale = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(call.head_dim))),
  };
  check_cuda(cudaFuncSetAttribute(attention_16bit_kernel<L>, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes),
             "shared memory of attention_16bit");
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(call.heads),
                  static_cast<unsigned>(call.groups * parts));
  attention_16bit_kernel<L><<<grid, L::kThreads, L::kBytes, stream>>>(operands);
  check_launch("attention_16bit");
  if (parts > 1) combine_parts(call, operands.partial, parts, stream);
}

/// Calls work.template operator()<Layout>() with the layout for a type and head size.
template <typename Element, typename Work>
auto with_head_dim(const AttentionCall& call, const Work& work) {
  if (call.head_dim == 32) return work.template operator()<Layout<Element, 32, 2>>();
  if (call.head_dim == 64) return work.template operator()<Layout<Element, 64, 2>>();
  check(call.head_dim == 128, "attention_16bit: head_dim ", call.head_dim, ", expected 32, 64 or 128");
  return work.template operator()<Layout<Element, 128, 1>>();
}

template <typename Work>
auto with_layout(const AttentionCall& call, const Work& work) {
  if (call.dtype == DType::f16) return with_head_dim<__half>(call, work);
  check(call.dtype == DType::bf16, "attention_16bit: inputs of type ", static_cast<int>(call.dtype),
        ", expected bf16 or f16");
  return with_head_dim<__nv_bfloat16>(call, work);
}

}  // namespace

std::size_t attention_16bit_workspace(const AttentionCall& call) {
  return with_layout(call, [&]<typename L>() { return partial_bytes(call, parts_with<L>(call)); });
}

void attention_16bit(const AttentionCall& call, cudaStream_t stream) {
  check_call(call, "attention_16bit");
  if (call.dtype == DType::bf16 && device_limits().major < 8) {
    fail(ErrorCode::unsupported, "this GPU has no bf16 arithmetic; choose fp16 or fp32");
  }
  with_layout(call, [&]<typename L>() { launch<L>(call, stream); });
}

}  // namespace lingbot_map::cuda
