#pragma once

#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "cache/kv_store.hpp"
#include "cache/two_stream_cache.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map {

/// softmax(q k^T / sqrt(head_dim)) v without a mask, in the ways the network needs it. One object serves one session.
/// q, k, v and out are of one type; rows [tokens, heads * head_dim] may be strided.
class Attention {
 public:
  virtual ~Attention() = default;

  [[nodiscard]] virtual AttentionKind kind() const noexcept = 0;
  /// The kind and the kernels behind it, for people.
  [[nodiscard]] virtual std::string description() const { return std::string(name_of(kind())); }

  /// Every frame for itself: q, k, v, out are [frames * tokens, heads * head_dim].
  virtual void within_frames(const Tensor& q, const Tensor& k, const Tensor& v, int frames, int heads,
                             const Tensor& out) = 0;

  /// The tokens that run() may touch to attend to `range`: at least these must be prepared in the store.
  [[nodiscard]] virtual VisibleRange touched(const VisibleRange& range) const { return range; }
  /// Once a frame, before the first run: what run() reads is the visible range of `cache`, for `queries` rows.
  virtual void plan(const TwoStreamCache& cache, std::int64_t queries) = 0;
  /// Equal for two plans exactly when operations recorded under one may be replayed under the other.
  [[nodiscard]] virtual std::uint64_t signature() const { return 0; }
  /// Once a layer: q [n, heads * head_dim] against the planned range of that layer.
  virtual void run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) = 0;

  /// A few float32 queries [n, heads * head_dim] against the first `count` float32 rows of k and v: the camera head.
  /// count i64 [1] is read when the operation runs.
  virtual void over_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& count, int heads,
                         const Tensor& out) = 0;
};

/// The attention of this kind for a back end and the network's `heads`; `automatic` takes the fastest for its device
/// and `dtype`: 'sdpa', by the measurements in docs/benchmarks.md. Throws Error(unsupported) that says why a kind is
/// not available.
[[nodiscard]] std::unique_ptr<Attention> make_attention(Backend& backend, AttentionKind kind, DType dtype, int heads);

}  // namespace lingbot_map
