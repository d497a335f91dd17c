#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "attention/cuda/flashinfer_plan.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map::cuda {

/// softmax(q k^T / 8) v without a mask by FlashInfer's FlashAttention-3 kernels: head size 64, bf16 and fp16, compute
/// capability 9.0 only (wgmma). Plan once a frame on the host, run once a layer. One object serves one stream and one
/// problem at a time; it owns its workspaces.
///
/// A plan enqueues one small copy (and a kernel that fills the row indices when paged) and never waits for the device
/// except when it outgrows its memory. Keys are not split: every query tile sees them in one order, so bytes depend on
/// neither graphs nor the number of multiprocessors.
///
/// What one captured run may see change by later plans: first token, number of tokens, the spread of the work.
/// What ends its life (signature() differs): other queries, other `readable_tokens` (dense: the extent in the tensor
/// maps), more tokens than were ever reserved (paged).
class FlashInferFa3 {
 public:
  /// How keys and values are read.
  enum class Reading {
    dense,  ///< in place by the bulk copy engine: the visible range is one piece
    paged,  ///< gathered row by row through an index a token, as FlashInfer reads any page table
  };

  /// Throws Error(unsupported) when the current device is not of compute capability 9.0.
  FlashInferFa3(int heads, DType dtype, Reading reading = Reading::dense);

  /// Whether the current device runs these kernels.
  [[nodiscard]] static bool available();

  /// Room for row indices of ranges of this many tokens, so that signatures of paged plans hold until one is longer.
  /// Waits for `stream` if it has to allocate.
  void reserve_tokens(std::int64_t tokens, cudaStream_t stream);

  /// run() will attend from `queries` rows to rows [first_token, first_token + tokens) of k and v: TwoStreamCache's
  /// visible(). Dense reading touches rows up to `readable_tokens`, none beyond: those past the range take no part, but
  /// must be finite. Give the end of the length bucket there, and graphs stay valid within it.
  void plan_range(std::int64_t first_token, std::int64_t tokens, std::int64_t readable_tokens, int queries,
                  cudaStream_t stream);

  /// Enqueues attention on `stream`; what a CUDA graph captures. q and out are [queries, heads * 64], k and v the rows
  /// from token 0 on, at least `readable_tokens` of them.
  void run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, cudaStream_t stream) const;

  [[nodiscard]] Reading reading() const noexcept { return reading_; }
  [[nodiscard]] const CaptureSignature& signature() const noexcept { return signature_; }
  /// Device memory held.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  /// FlashInfer's plan in plain types; offsets are into the plan's memory.
  struct Layout {
    std::int64_t qo_tile_indices_offset = 0;
    std::int64_t qo_indptr_offset = 0;
    std::int64_t kv_indptr_offset = 0;
    std::int64_t qo_lengths_offset = 0;
    std::int64_t kv_lengths_offset = 0;
    std::int64_t head_indices_offset = 0;
    std::int64_t work_indptr_offset = 0;
    std::int64_t batch_indices_offset = 0;
  };

  template <typename Half>
  void launch(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, cudaStream_t stream) const;

  int heads_;
  DType dtype_;
  Reading reading_;
  int multiprocessors_ = 0;
  int queries_ = 0;            ///< planned; 0: no plan stands
  std::int64_t readable_ = 0;  ///< rows of k and v that the plan may read
  Layout layout_;
  CaptureSignature signature_;
  PlanMemory plan_memory_;
  DeviceMemory row_indices_;  ///< int32, paged reading only
  std::int64_t row_capacity_ = 0;
};

}  // namespace lingbot_map::cuda
