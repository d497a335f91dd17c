#pragma once

#include <optional>

#include "attention/cuda/cuda_attention.hpp"
#include "attention/cuda/flashinfer_fa2.hpp"
#include "attention/cuda/flashinfer_fa3.hpp"

namespace lingbot_map::cuda {

/// Attention over the cache's page table by FlashInfer's kernels: FlashAttention-3 where the device and the build have
/// it, else FlashAttention-2. FlashInfer has nothing for float32: there the pages are gathered and attended to by the
/// project's exact kernel, so that the page table can be held against exact numbers.
class FlashInferAttention final : public CudaAttention {
 public:
  /// Throws Error(unsupported) when no kernel runs on the device in this type.
  FlashInferAttention(CudaBackend& backend, DType dtype, int heads);
  /// Empty when the back end is available for the type, else why not.
  [[nodiscard]] static std::string why_not(const CudaBackend& backend, DType dtype);

  [[nodiscard]] AttentionKind kind() const noexcept override { return AttentionKind::flashinfer; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] VisibleRange touched(const VisibleRange& range) const override;
  void plan(const TwoStreamCache& cache, std::int64_t queries) override;
  [[nodiscard]] std::uint64_t signature() const override;
  void run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) override;

 private:
  void plan_gather(const TwoStreamCache& cache);
  void run_gathered(const Tensor& k, const Tensor& v, const Tensor& q, int heads, const Tensor& out);

  int heads_;
  std::optional<FlashInferFa2> fa2_;
  std::optional<FlashInferFa3> fa3_;
  std::optional<DeviceNumbers> gather_numbers_;  ///< the page table
  std::int64_t pages_ = 0;                       ///< it has room for
  std::int64_t page_size_ = 0;
  std::int64_t gathered_tokens_ = 0;
  Buffer gathered_;  ///< no recording outlives a change of the number of tokens, so it may move
  VisibleRange range_;
};

}  // namespace lingbot_map::cuda
