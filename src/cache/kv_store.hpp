#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/two_stream_cache.hpp"
#include "tensor/growing_buffer.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map {

class StateReader;
class StateWriter;

/// The memory behind a TwoStreamCache: for every layer one plane of keys and one of values, rows `[token, width]`.
/// The slots are of fixed size, the special tokens after them grow without limit and without a copy; memory is taken
/// as it is first written, so a window that is half full takes half. The store owns the memory; tensors are views.
class KvStore {
 public:
  struct Shape {
    int layers = 0;
    std::int64_t slot_tokens = 0;  ///< TwoStreamCache::slot_tokens()
    std::int64_t width = 0;        ///< elements of a row: heads * 64
    DType dtype = DType::f32;
  };

  /// Throws Error(usage) when the slots are too many, Error(resource) when there is no address space for them.
  explicit KvStore(const Shape& shape, const GrowingMemoryMaker& make = GrowingBuffer::make);

  /// Makes the tokens of `range` usable in every plane, and those up to `touched_end` for kernels that read whole tiles
  /// past the true length; never written ones read as zero. Call it after begin_frame() and before any view is taken:
  /// views made earlier are invalid afterwards. Throws Error(resource).
  void prepare(VisibleRange range, std::int64_t touched_end = 0);

  /// All usable rows `[tokens, width]` of a layer's plane, from token 0 on. Valid until the next prepare().
  [[nodiscard]] Tensor keys(int layer) const { return plane(2 * static_cast<std::int64_t>(layer)); }
  [[nodiscard]] Tensor values(int layer) const { return plane(2 * static_cast<std::int64_t>(layer) + 1); }

  /// Writes all tokens that were ever prepared, whoever still sees them.
  void save(StateWriter& state) const;
  /// Fills an unused store of the same shape with what was saved. Throws Error(input) where that does not fit it,
  /// before memory is taken.
  void restore(StateReader& state);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// Bytes of one token in all planes.
  [[nodiscard]] std::size_t bytes_per_token() const noexcept;
  /// Whether the rows of a range were ever prepared.
  [[nodiscard]] bool holds(VisibleRange range) const noexcept {
    return range.tokens == 0 || (range.first_token >= first_used_ && range.end() <= end_used_);
  }
  /// Bytes of the tokens that were ever prepared, in all planes. On the CPU this is what is resident, up to page size.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept;

 private:
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  void grow(std::int64_t tokens);
  [[nodiscard]] Tensor plane(std::int64_t index) const;

  Shape shape_;
  std::size_t next_ahead_ = 0;  ///< the plane that grows ahead next
  std::int64_t tokens_ = 0;     ///< usable rows of every plane
  std::int64_t first_used_;     ///< the prepared tokens are [first_used_, end_used_)
  std::int64_t end_used_ = 0;
  std::vector<std::unique_ptr<GrowingMemory>> planes_;  ///< K and V of layer 0, K and V of layer 1, ...
};

}  // namespace lingbot_map
