#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "attention/cuda/flashinfer_plan.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map::cuda {

/// softmax(q k^T / 8) v without a mask by FlashInfer's paged FlashAttention-2 kernels: head size 64, fp16 from sm_75
/// on, bf16 from sm_80 on. Plan once a frame on the host, run once a layer. One object serves one stream and one
/// problem at a time; it owns its workspaces.
///
/// A plan enqueues two small copies and never waits for the device except when it outgrows its memory. Work is split
/// along the keys the same way whether a graph captures the run or not, so bytes are equal with graphs on and off; they
/// depend on the number of multiprocessors. Partial results are rounded to the output's type before they are merged.
///
/// What one captured run may see change by later plans: the page table, the number of pages and the last page's length.
/// What ends its life (signature() differs): other queries, groups, page size; more pages than were ever reserved.
class FlashInferFa2 {
 public:
  /// Throws Error(unsupported) when the current device has no kernel for `dtype`, Error(internal) for types other than
  /// bf16 and fp16.
  FlashInferFa2(int heads, DType dtype);

  /// Whether the current device runs these kernels in `dtype`.
  [[nodiscard]] static bool available(DType dtype);

  /// Room for page tables of this many pages, so that signatures hold until one is longer. Waits for `stream` if it has
  /// to allocate.
  void reserve_pages(std::int64_t pages, cudaStream_t stream);

  /// run() will attend from `queries` rows to the pages of `page_table` (page p: tokens from p * page_size on), all
  /// full but the last, which holds `last_page_len` tokens: TwoStreamCache's build_visible_page_table() and
  /// compute_last_page_len().
  void plan_pages(std::span<const std::int32_t> page_table, std::int64_t last_page_len, int page_size, int queries,
                  cudaStream_t stream);

  /// run() will attend within each of `frames` groups of `tokens` consecutive rows. Does nothing when that is the
  /// standing plan: plan it before a graph is captured, and keep an object of its own for it.
  void plan_frames(int frames, int tokens, cudaStream_t stream);

  /// Enqueues attention on `stream`; what a CUDA graph captures. q is [queries, heads * 64], k and v the rows from
  /// token 0 on and of one stride, out [queries, heads * 64] without gaps between rows and apart from all others.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, cudaStream_t stream) const;

  [[nodiscard]] const CaptureSignature& signature() const noexcept { return signature_; }
  /// Device memory held.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return plan_memory_.bytes() + partials_bytes_; }

 private:
  /// FlashInfer's plan in plain types; offsets are into the plan's workspace and the partial results.
  struct Layout {
    std::int64_t padded_batch_size = 0;
    std::int64_t total_num_rows = 0;
    std::int64_t total_num_rows_offset = 0;
    std::int64_t request_indices_offset = 0;
    std::int64_t qo_tile_indices_offset = 0;
    std::int64_t kv_tile_indices_offset = 0;
    std::int64_t merge_indptr_offset = 0;
    std::int64_t o_indptr_offset = 0;
    std::int64_t kv_chunk_size_offset = 0;
    std::int64_t partial_values_offset = 0;
    std::int64_t partial_sums_offset = 0;
    std::int64_t block_valid_offset = 0;
    bool for_graphs = false;
    bool split = false;
  };

  /// One planned problem: `groups` sequences of `queries` rows each against `pages_of_group` pages each.
  struct Problem {
    int groups = 0;
    int queries = 0;
    std::int64_t pages_of_group = 0;
    std::int64_t last_page_len = 0;
    int page_size = 0;
    std::int64_t page_stride = 0;  ///< tokens from one value of a page index to the next
    std::int64_t readable = 0;     ///< rows of k and v that are read
    bool for_graphs = false;       ///< same grid for every number of pages
    friend bool operator==(const Problem&, const Problem&) = default;
  };

  void plan(const Problem& problem, std::span<const std::int32_t> page_indices, cudaStream_t stream);
  void reserve(const Problem& problem, cudaStream_t stream);
  template <typename Half>
  void launch(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, cudaStream_t stream) const;

  int heads_;
  DType dtype_;
  int multiprocessors_ = 0;
  Problem problem_;
  Layout layout_;
  CaptureSignature signature_;
  std::int64_t page_capacity_ = 0;   ///< page indices that the plan's memory has room for
  std::int64_t group_capacity_ = 0;  ///< groups that it has room for
  std::size_t scheduler_bytes_ = 0;  ///< and bytes for FlashInfer's own arrays
  PlanMemory plan_memory_;
  DeviceMemory partials_;
  std::size_t partials_bytes_ = 0;
};

}  // namespace lingbot_map::cuda
