#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "lingbot_map/types.hpp"

namespace lingbot_map::cuda {

/// softmax(q k^T / sqrt(head_dim)) v without a mask. Rows are [tokens, heads * head_dim]; strides are in elements, a
/// multiple of 16 bytes, and bases are 16-byte aligned. All pointers are memory of the current device; out overlaps no
/// input.
///
/// Group g of `groups` attends for itself: its queries (and outputs) are rows g * queries on, its keys rows g * keys
/// on.
struct AttentionCall {
  const void* q = nullptr;
  std::int64_t q_stride = 0;
  const void* k = nullptr;
  const void* v = nullptr;
  std::int64_t kv_stride = 0;  ///< of both k and v
  void* out = nullptr;
  std::int64_t out_stride = 0;
  int groups = 1;
  std::int64_t queries = 0;  ///< of one group, at least 1
  int heads = 0;
  int head_dim = 0;
  std::int64_t keys = 0;  ///< of one group, at least 1: what the host knows to be there
  /// {first row, rows} of each group that are attended, within [0, keys), read when the kernel runs; no row outside is
  /// touched. Null: all. Without rows the output is zero.
  const std::int64_t* range = nullptr;
  DType dtype = DType::f32;   ///< of q, k, v and out
  void* workspace = nullptr;  ///< 16-byte aligned, of any content; may be shared by calls on one stream
  std::size_t workspace_bytes = 0;
};

// Each function only launches kernels: no allocation, no wait, nothing read back, so a call can be captured in a graph.
// Results are the same bits each time on the same kind of device for the same sizes. Keys may be shared out over thread
// blocks whose partial results meet in the workspace: ..._workspace() says how many bytes a call needs (it reads only
// the sizes; never less for more keys). All throw Error(internal) on sizes, types or alignments that do not fit.

/// Exact float32: no product is rounded to a narrower type, and output sums are kept in two levels so that the error
/// does not grow with the number of keys. head_dim 32, 64 or 128. Source of the method: FlashAttention (online softmax
/// over tiles of keys).
void attention_f32(const AttentionCall& call, cudaStream_t stream);
[[nodiscard]] std::size_t attention_f32_workspace(const AttentionCall& call);

/// bf16 or f16 on the matrix units that every GPU since compute capability 7.5 has; sums and softmax in float32,
/// probabilities rounded to the type. bf16 needs compute capability 8.0: Error(unsupported) below. head_dim 32, 64 or
/// 128. Source of the method: FlashAttention-2.
void attention_16bit(const AttentionCall& call, cudaStream_t stream);
[[nodiscard]] std::size_t attention_16bit_workspace(const AttentionCall& call);

/// A few float32 queries against long rows, bound by memory: the camera head. One group; head_dim any multiple of 4 up
/// to 256. The first count[0] rows of k and v are attended, read when the kernel runs; null: `keys`. call.range is not
/// for this function and must be null. `keys` may be less than the count: the work is shared out by the count.
void attention_rows(const AttentionCall& call, const std::int64_t* count, cudaStream_t stream);
[[nodiscard]] std::size_t attention_rows_workspace(const AttentionCall& call);

}  // namespace lingbot_map::cuda
