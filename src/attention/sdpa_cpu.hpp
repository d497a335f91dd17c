#pragma once

#include <vector>

#include "attention/attention.hpp"
#include "backend/cpu/cpu_backend.hpp"

namespace lingbot_map {

/// Attention on the CPU: keys and values are streamed in blocks through the cache with a running maximum and sum, so
/// that no score matrix exists. Reads the key/value planes in place.
class SdpaCpu final : public Attention {
 public:
  explicit SdpaCpu(CpuBackend& backend) : backend_(backend) {}

  [[nodiscard]] AttentionKind kind() const noexcept override { return AttentionKind::sdpa; }
  void within_frames(const Tensor& q, const Tensor& k, const Tensor& v, int frames, int heads,
                     const Tensor& out) override;
  void plan(const TwoStreamCache& cache, std::int64_t) override { range_ = cache.visible(); }
  void run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) override;
  void over_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& count, int heads,
                 const Tensor& out) override;

 private:
  /// One group of queries that sees one range of keys.
  struct Group {
    Tensor q;
    Tensor k;
    Tensor v;
    Tensor out;
  };
  void attend(std::span<const Group> groups, int heads);

  CpuBackend& backend_;
  VisibleRange range_;
  std::vector<Group> groups_;
  std::vector<Buffer> scratch_;  ///< one for each thread
};

}  // namespace lingbot_map
