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
/// depend on the number of multiprocessors. The results of the parts are float32 and merged in the order of the keys.
///
/// What one captured run may see change by later plans: the page table, the number of pages and the last page's length.
/// What ends its life (signature() differs): other queries, other page size, more pages than were ever reserved.
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

  /// Enqueues attention on `stream`; what a CUDA graph captures. q and out are [queries, heads * 64], k and v the rows
  /// from token 0 on and of one stride.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, cudaStream_t stream) const;

  [[nodiscard]] const CaptureSignature& signature() const noexcept { return signature_; }
  /// Device memory held.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return plan_memory_.bytes() + parts_bytes_; }

 private:
  /// FlashInfer's plan in plain types; offsets are into the plan's memory and that of the parts' results.
  struct Layout {
    std::int64_t padded_batch_size = 0;  ///< blocks of each head, with those that have nothing to do
    std::int64_t request_indices_offset = 0;
    std::int64_t qo_tile_indices_offset = 0;
    std::int64_t kv_tile_indices_offset = 0;
    std::int64_t merge_indptr_offset = 0;
    std::int64_t o_indptr_offset = 0;
    std::int64_t kv_chunk_size_offset = 0;
    std::int64_t block_valid_offset = 0;
    std::int64_t part_values_offset = 0;
    std::int64_t part_sums_offset = 0;
  };

  void reserve(std::int64_t pages, int queries, cudaStream_t stream);
  template <typename Half>
  void launch(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, cudaStream_t stream) const;

  int heads_;
  DType dtype_;
  int multiprocessors_ = 0;
  int queries_ = 0;            ///< planned; 0: no plan stands
  int page_size_ = 0;          ///< planned
  std::int64_t readable_ = 0;  ///< rows of k and v that the plan reads
  Layout layout_;
  CaptureSignature signature_;
  std::int64_t page_capacity_ = 0;   ///< page indices that the plan's memory has room for
  std::size_t scheduler_bytes_ = 0;  ///< and bytes for FlashInfer's own arrays
  PlanMemory plan_memory_;
  DeviceMemory parts_;
  std::size_t parts_bytes_ = 0;
};

}  // namespace lingbot_map::cuda
