#include <algorithm>
#include <cmath>

#include "attention/cuda/key_parts.hpp"
#include "attention/cuda/tile_copy.cuh"
#include "backend/cuda/early_launch.cuh"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostParts = 128;

/// A team of kLanes lanes owns one row of keys at a time, kVectors float4s of it a lane, for kQueries queries.
template <int kLanes_, int kVectors_, int kQueries_>
struct Layout {
  static constexpr int kLanes = kLanes_;
  static constexpr int kVectors = kVectors_;
  static constexpr int kQueries = kQueries_;
  static constexpr int kTeams = kThreads / kLanes;
  static constexpr int kBatch = 4 / kVectors;  ///< rows that a team has under way at a time
  static constexpr int kRowsAtOnce = kTeams * kBatch;
  static constexpr int kResident = kQueries > 1 ? 1 : (kVectors > 1 ? 2 : 4);  ///< blocks on a processor
};

struct Operands {
  const float* q;
  const float* k;
  const float* v;
  PartialResults partial;
  std::int64_t q_stride;
  std::int64_t kv_stride;
  const std::int64_t* count;
  std::int64_t keys;
  int queries;
  int head_dim;
  int parts;
  int rows_at_once;
  float scale;  ///< of scores, times log2(e)

  __device__ std::int64_t rows() const { return count != nullptr ? count[0] : keys; }
};

/// Short ranges take fewer parts: a part smaller than what a block has under way at a time only adds to the combining.
__device__ int parts_used(const Operands& call, std::int64_t rows) {
  const std::int64_t useful = (rows + call.rows_at_once - 1) / call.rows_at_once;
  return static_cast<int>(useful < 1 ? 1 : (useful < call.parts ? useful : call.parts));
}

/// What weights are taken relative to: a running maximum, or anything finite while there was no key.
__device__ float reference(float top) { return top == -INFINITY ? 0.0f : top; }

__device__ float dot(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

__device__ float4 scaled(float4 a, float factor) {
  return make_float4(a.x * factor, a.y * factor, a.z * factor, a.w * factor);
}

__device__ float4 add_scaled(float4 sum, float factor, float4 a) {
  return make_float4(fmaf(factor, a.x, sum.x), fmaf(factor, a.y, sum.y), fmaf(factor, a.z, sum.z),
                     fmaf(factor, a.w, sum.w));
}

template <typename L>
__global__ __launch_bounds__(kThreads, L::kResident) void attention_rows_kernel(const Operands call) {
  __shared__ float4 team_sums[kThreads * L::kVectors];  // [team, head_dim rounded up]
  __shared__ float2 team_states[L::kTeams];

  let_next_start();
  wait_for_previous();
  const std::int64_t rows = call.rows();
  const int used = parts_used(call, rows);
  const int part = static_cast<int>(blockIdx.x);
  if (part >= used) return;
  const std::int64_t share_begin = rows * part / used;
  const std::int64_t share_end = rows * (part + 1) / used;

  const int head = static_cast<int>(blockIdx.y);
  const int first_query = static_cast<int>(blockIdx.z) * L::kQueries;
  const int team = static_cast<int>(threadIdx.x) / L::kLanes;
  const int lane = static_cast<int>(threadIdx.x) % L::kLanes;
  const std::int64_t head_column = std::int64_t{head} * call.head_dim;
  const float4 zero = make_float4(0, 0, 0, 0);
  const auto load = [&](const float* base, std::int64_t stride, std::int64_t row, bool valid, int vector) {
    const int column = (vector * L::kLanes + lane) * 4;
    if (!valid || column >= call.head_dim) return zero;
    return __ldg(reinterpret_cast<const float4*>(base + row * stride + head_column + column));
  };

  float4 query[L::kQueries][L::kVectors];
  float4 sums[L::kQueries][L::kVectors];
  float top[L::kQueries];
  float total[L::kQueries];
#pragma unroll
  for (int i = 0; i < L::kQueries; ++i) {
    top[i] = -INFINITY;
    total[i] = 0;
#pragma unroll
    for (int vector = 0; vector < L::kVectors; ++vector) {
      query[i][vector] = load(call.q, call.q_stride, first_query + i, first_query + i < call.queries, vector);
      sums[i][vector] = zero;
    }
  }

  for (std::int64_t first = share_begin; first < share_end; first += L::kRowsAtOnce) {
    float4 key[L::kBatch][L::kVectors];
    float4 value[L::kBatch][L::kVectors];
    bool valid[L::kBatch];
#pragma unroll
    for (int u = 0; u < L::kBatch; ++u) {
      const std::int64_t row = first + u * L::kTeams + team;
      valid[u] = row < share_end;
#pragma unroll
      for (int vector = 0; vector < L::kVectors; ++vector) {
        key[u][vector] = load(call.k, call.kv_stride, row, valid[u], vector);
        value[u][vector] = load(call.v, call.kv_stride, row, valid[u], vector);
      }
    }
#pragma unroll
    for (int i = 0; i < L::kQueries; ++i) {
      float score[L::kBatch];
#pragma unroll
      for (int u = 0; u < L::kBatch; ++u) {
        score[u] = 0;
#pragma unroll
        for (int vector = 0; vector < L::kVectors; ++vector) {
          score[u] = dot(query[i][vector], key[u][vector], score[u]);
        }
      }
#pragma unroll
      for (int lanes = 1; lanes < L::kLanes; lanes *= 2) {
#pragma unroll
        for (int u = 0; u < L::kBatch; ++u) score[u] += __shfl_xor_sync(0xffffffffU, score[u], lanes);
      }
      float new_top = top[i];
#pragma unroll
      for (int u = 0; u < L::kBatch; ++u) {
        score[u] = valid[u] ? score[u] * call.scale : -INFINITY;
        new_top = fmaxf(new_top, score[u]);
      }
      const float base = reference(new_top);
      const float fade = exp2_fast(top[i] - base);
      top[i] = new_top;
      total[i] *= fade;
#pragma unroll
      for (int vector = 0; vector < L::kVectors; ++vector) sums[i][vector] = scaled(sums[i][vector], fade);
#pragma unroll
      for (int u = 0; u < L::kBatch; ++u) {
        const float weight = exp2_fast(score[u] - base);
        total[i] += weight;
#pragma unroll
        for (int vector = 0; vector < L::kVectors; ++vector) {
          sums[i][vector] = add_scaled(sums[i][vector], weight, value[u][vector]);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < L::kQueries; ++i) {
    if (first_query + i >= call.queries) break;
    __syncthreads();  // the last query's have been read
#pragma unroll
    for (int vector = 0; vector < L::kVectors; ++vector) {
      team_sums[(team * L::kVectors + vector) * L::kLanes + lane] = sums[i][vector];
    }
    if (lane == 0) team_states[team] = make_float2(top[i], total[i]);
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x);
    if (column >= call.head_dim) continue;
    float block_top = -INFINITY;
    for (int t = 0; t < L::kTeams; ++t) block_top = fmaxf(block_top, team_states[t].x);
    const float base = reference(block_top);
    float sum = 0;
    float block_total = 0;
    for (int t = 0; t < L::kTeams; ++t) {
      const float2 state = team_states[t];
      const float weight = exp2_fast(state.x - base);
      block_total = fmaf(weight, state.y, block_total);
      sum = fmaf(weight, reinterpret_cast<const float*>(team_sums)[t * L::kVectors * L::kLanes * 4 + column], sum);
    }
    const std::int64_t place = (std::int64_t{part} * call.queries + first_query + i) * gridDim.y + head;
    call.partial.outputs[place * call.head_dim + column] = sum;
    if (column == 0) call.partial.sums[place] = make_float2(block_top, block_total);
  }
}

/// A block for a query's head, a thread for an element.
__global__ __launch_bounds__(kThreads) void combine_rows_kernel(const Operands call, float* out,
                                                                std::int64_t out_stride) {
  let_next_start();
  wait_for_previous();
  const int used = parts_used(call, call.rows());
  const int head = static_cast<int>(blockIdx.x);
  const int query = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(threadIdx.x);
  if (column >= call.head_dim) return;
  const auto place_of = [&](int part) { return (std::int64_t{part} * call.queries + query) * gridDim.x + head; };

  float top = -INFINITY;
#pragma unroll 8
  for (int part = 0; part < used; ++part) top = fmaxf(top, call.partial.sums[place_of(part)].x);
  const float base = reference(top);
  float sum = 0;
  float total = 0;
#pragma unroll 8
  for (int part = 0; part < used; ++part) {
    const float2 state = call.partial.sums[place_of(part)];
    const float weight = exp2_fast(state.x - base);
    total = fmaf(weight, state.y, total);
    sum = fmaf(weight, call.partial.outputs[place_of(part) * call.head_dim + column], sum);
  }
  out[query * out_stride + std::int64_t{head} * call.head_dim + column] = total == 0.0f ? 0.0f : sum / total;
}

/// At least two, so that results always pass through the workspace.
template <typename L>
int parts_with(const AttentionCall& call, const DeviceLimits& limits) {
  const std::int64_t blocks = call.heads * ((call.queries + L::kQueries - 1) / L::kQueries);
  return static_cast<int>(
      std::clamp(std::int64_t{limits.processors} * L::kResident / blocks, std::int64_t{2}, kMostParts));
}

template <typename L>
void launch(const AttentionCall& call, const std::int64_t* count, cudaStream_t stream) {
  const int parts = parts_with<L>(call, device_limits());
  const Operands operands{
      .q = static_cast<const float*>(call.q),
      .k = static_cast<const float*>(call.k),
      .v = static_cast<const float*>(call.v),
      .partial = partial_results(call, parts),
      .q_stride = call.q_stride,
      .kv_stride = call.kv_stride,
      .count = count,
      .keys = call.keys,
      .queries = static_cast<int>(call.queries),
      .head_dim = call.head_dim,
      .parts = parts,
      .rows_at_once = L::kRowsAtOnce,
      .scale = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(call.head_dim))),
  };
  const auto heads = static_cast<unsigned>(call.heads);
  const auto queries = static_cast<unsigned>(call.queries);
  const dim3 grid(static_cast<unsigned>(parts), heads, (queries + L::kQueries - 1) / L::kQueries);
  launch_early(attention_rows_kernel<L>, grid, kThreads, stream, "attention_rows", operands);
  const auto threads = static_cast<unsigned>((call.head_dim + 31) / 32 * 32);
  launch_early(combine_rows_kernel, dim3(heads, queries), threads, stream, "combining parts of attention_rows",
               operands, static_cast<float*>(call.out), call.out_stride);
}

template <int kQueries, typename Work>
auto with_head_dim(const AttentionCall& call, const Work& work) {
  if (call.head_dim <= 32) return work.template operator()<Layout<8, 1, kQueries>>();
  if (call.head_dim <= 64) return work.template operator()<Layout<16, 1, kQueries>>();
  if (call.head_dim <= 128) return work.template operator()<Layout<32, 1, kQueries>>();
  return work.template operator()<Layout<32, 2, kQueries>>();
}

/// Calls work.template operator()<Layout>() with the layout for a head size and number of queries.
template <typename Work>
auto with_layout(const AttentionCall& call, const Work& work) {
  return call.queries == 1 ? with_head_dim<1>(call, work) : with_head_dim<8>(call, work);
}

}  // namespace

std::size_t attention_rows_workspace(const AttentionCall& call) {
  return with_layout(call, [&]<typename L>() { return partial_bytes(call, parts_with<L>(call, device_limits())); });
}

void attention_rows(const AttentionCall& call, const std::int64_t* count, cudaStream_t stream) {
  check_call(call, "attention_rows");
  check(call.dtype == DType::f32, "attention_rows: inputs of type ", static_cast<int>(call.dtype),
        ", expected float32");
  check(call.groups == 1 && call.range == nullptr, "attention_rows: takes one group and no range");
  check(call.head_dim >= 4 && call.head_dim <= 256 && call.head_dim % 4 == 0, "attention_rows: head_dim ",
        call.head_dim, ", expected a multiple of 4 up to 256");
  check(call.queries <= 65535 && call.heads <= 65535, "attention_rows: too many queries or heads");
  with_layout(call, [&]<typename L>() { launch<L>(call, count, stream); });
}

}  // namespace lingbot_map::cuda
