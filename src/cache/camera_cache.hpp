#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/growing_buffer.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map {

class StateReader;
class StateWriter;

/// Keys and values of the camera head: for every refinement pass and every block, rows `[frame, width]` in float32.
/// Scale frames and keyframes stay for the whole sequence; nothing is ever evicted. Order of calls for n frames:
/// prepare(n); write rows [frames(), frames() + n) of every plane and attend to [0, frames() + n); then commit(n), or
/// nothing at all to forget them.
class CameraCache {
 public:
  /// `width` is 2C.
  CameraCache(int iterations, int blocks, std::int64_t width, const GrowingMemoryMaker& make = GrowingBuffer::make);

  /// Makes room for `count` frames past the kept ones. Views made earlier are invalid afterwards. Throws
  /// Error(resource).
  void prepare(std::int64_t count);
  /// Rows `[frames, width]` of a plane from frame 0 on, the prepared ones included. Valid until the next prepare().
  [[nodiscard]] Tensor keys(int iteration, int block) const { return plane(iteration, block, 0); }
  [[nodiscard]] Tensor values(int iteration, int block) const { return plane(iteration, block, 1); }
  /// Keeps the first `count` of the frames prepared.
  void commit(std::int64_t count);
  /// Forgets all frames from `frames` on.
  void roll_back(std::int64_t frames);
  void clear() { roll_back(0); }
  /// Writes the rows of the frames kept.
  void save(StateWriter& state) const;
  /// Becomes what a cache of the same sizes was when it was saved. Throws Error(input) where that does not fit it,
  /// before memory is taken.
  void restore(StateReader& state);

  /// Frames kept: the row that the next frame writes.
  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  [[nodiscard]] std::size_t bytes_per_frame() const noexcept;
  /// Bytes of the rows that were ever prepared, in all planes.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept;

 private:
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  [[nodiscard]] Tensor plane(int iteration, int block, int which) const;

  int iterations_;
  int blocks_;
  std::int64_t width_;
  std::size_t next_ahead_ = 0;  ///< the plane that grows ahead next
  std::int64_t frames_ = 0;
  std::int64_t rows_ = 0;  ///< rows of the views: kept and prepared frames
  std::int64_t most_ = 0;  ///< rows ever prepared
  std::vector<std::unique_ptr<GrowingMemory>> planes_;
};

}  // namespace lingbot_map
