#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace lingbot_map::cuda {

/// One call of hopper_attention(). All pointers are device memory. Rows are [*, heads * 64] of bfloat16 or float16 with
/// a stride in elements that is a multiple of 8; bases are aligned to 16 bytes.
struct HopperAttention {
  const void* q = nullptr;  ///< [groups * queries, heads * 64]
  std::int64_t q_stride = 0;
  const void* k = nullptr;  ///< [groups * keys, heads * 64]
  const void* v = nullptr;  ///< like k
  std::int64_t kv_stride = 0;
  void* out = nullptr;  ///< like q
  std::int64_t out_stride = 0;

  int groups = 1;  ///< independent: queries of group g attend to keys of group g
  std::int64_t queries = 0;
  std::int64_t heads = 0;
  std::int64_t keys = 0;  ///< rows of a group's planes; nothing is read past them

  /// {first row, rows} on the device: what is attended, read when the kernel runs and cut to `keys`. Only with one
  /// group. Up to 127 rows past it are read and do not count: they must be finite. Null: all keys.
  const std::int64_t* range = nullptr;
  bool is_bf16 = true;

  void* workspace = nullptr;  ///< hopper_attention_workspace() bytes, aligned to 16, free for this call alone
  std::size_t workspace_bytes = 0;
};

/// Whether this build holds the kernel and a device of this compute capability runs it.
[[nodiscard]] bool hopper_attention_available(int compute_capability_major, int compute_capability_minor);

/// Bytes that a call of these sizes needs; 0 when the queries alone fill the device.
[[nodiscard]] std::size_t hopper_attention_workspace(std::int64_t queries, std::int64_t heads, int groups);

/// out = softmax(q k^T / 8) v for every head of 64, without a mask: sums in float32, weights rounded to the type of the
/// inputs. Without keys the result is 0. Equal inputs give equal bits, whatever else runs. Enqueues one kernel, or two
/// when the keys are split because there are few queries; allocates nothing and never waits, so that it can be captured
/// as a graph. Throws Error(internal) on arguments that do not fit or a small workspace.
///
/// Method: a block holds 128 queries of a head and streams tiles of 128 keys and values through shared memory, copied
/// by the copy engine and shared by the two blocks of a cluster; two warpgroups multiply with wgmma. The running
/// maximum of online softmax (Milakov and Gimelshein, 2018) is replaced by the maximum of the first tile, and raised
/// only when a weight grows large: softmax does not depend on it, and a weight of a floating-point type loses nothing
/// by being above 1.
void hopper_attention(const HopperAttention& call, cudaStream_t stream);

}  // namespace lingbot_map::cuda
