#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/cudnn_library.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map::cuda {

/// How the graph of attention is written down for cuDNN; the results differ in rounding at most.
enum class CudnnAttentionGraph : std::uint8_t {
  unified,    ///< one operation
  composite,  ///< two products and the steps of a softmax, which cuDNN fuses
};

/// One attention: softmax(scale * q k^T) v without a mask, for `batch` groups of rows [tokens, heads * head_dim] that
/// follow each other in memory: group g starts at row g * queries of q and out, and at row g * keys of k and v. Strides
/// are elements from one row to the next, multiples of 8.
struct CudnnAttentionShape {
  DType dtype = DType::bf16;  ///< bf16 or f16, of all four
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t head_dim = 64;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t q_stride = 0;
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  std::int64_t out_stride = 0;
  /// Whether the true lengths are read from the device: `queries` and `keys` are then the largest there may be. Rows
  /// of q, k and v up to those must be mapped and finite; rows of out past the true length are zero or untouched.
  bool lengths_on_device = false;
  CudnnAttentionGraph graph = CudnnAttentionGraph::composite;
  /// How many of cuDNN's proposals are passed over: 0 takes its first choice.
  int rank = 0;

  friend auto operator<=>(const CudnnAttentionShape&, const CudnnAttentionShape&) = default;
};

/// An attention compiled for one shape; owned by the CudnnAttention that made it.
class CudnnAttentionPlan {
 public:
  virtual ~CudnnAttentionPlan() = default;
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// Which of cuDNN's engines runs it, for people.
  [[nodiscard]] virtual const std::string& engine() const noexcept = 0;
};

/// cuDNN's fused attention on the GPU that is current when this object is made. A shape is planned once, always by the
/// same engine; no engine whose bits do not repeat is taken. Calls take turns.
class CudnnAttention {
 public:
  /// Throws Error(unsupported) when cuDNN is not available.
  explicit CudnnAttention(std::shared_ptr<const CudnnLibrary> library);
  /// For plans without a GPU: `description` is the text of a GPU's properties in cuDNN's JSON. Such plans do not run.
  CudnnAttention(std::shared_ptr<const CudnnLibrary> library, std::string_view description);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// The plan of a shape; null when cuDNN has none: then why_not() says why. Compiles on the first call, so not while
  /// a stream is captured.
  [[nodiscard]] const CudnnAttentionPlan* prepare(const CudnnAttentionShape& shape);
  [[nodiscard]] const std::string& why_not(const CudnnAttentionShape& shape) const;

  /// Launches a plan. q, k, v and out are device memory aligned to 16 bytes; query_lengths and key_lengths are int32
  /// [batch] on the device, null for a plan of exact lengths; `workspace` holds workspace_bytes() of the plan and is
  /// free again when the work is done. May be captured: the plan must outlive the captured graph.
  void run(const CudnnAttentionPlan& plan, const void* q, const void* k, const void* v, void* out,
           const std::int32_t* query_lengths, const std::int32_t* key_lengths, void* workspace, cudaStream_t stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot_map::cuda
