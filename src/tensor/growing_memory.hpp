#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// One block of device memory that grows at its end and never copies what it holds. A device's back end implements it
/// with what the device has for that: GrowingBuffer on the CPU, virtual memory management on a GPU.
class GrowingMemory {
 public:
  virtual ~GrowingMemory() = default;

  /// Makes at least [0, bytes) usable; what was never written reads as zero, what was written stays. May change data().
  /// Never shrinks. Throws Error(resource) that names the size when there is no memory; then nothing has changed.
  virtual void ensure(std::size_t bytes) = 0;
  /// Where the block begins, aligned to at least 4 KiB; nullptr while it has no bytes.
  [[nodiscard]] virtual void* data() const noexcept = 0;
  /// Usable bytes: at least what was ensured.
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  [[nodiscard]] virtual Device device() const noexcept = 0;
};

/// Makes one empty block.
using GrowingMemoryMaker = std::function<std::unique_ptr<GrowingMemory>()>;

}  // namespace lingbot_map
