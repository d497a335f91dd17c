#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>

#include "tensor/buffer.hpp"
#include "tensor/growing_memory.hpp"

namespace lingbot_map {
class CudaBackend;
}

namespace lingbot_map::cuda {

/// Zeroed memory of the current GPU, freed when the last owner goes; zeroed on `stream`, which is not waited for.
[[nodiscard]] Buffer allocate_device(std::size_t bytes, int device, cudaStream_t stream);

/// Page-locked host memory that copies can use while the host goes on.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// Device memory that this process has taken through this library: buffers and growing blocks, not what CUDA and its
/// libraries keep for themselves.
[[nodiscard]] std::size_t allocated_bytes() noexcept;
/// The most that it ever was.
[[nodiscard]] std::size_t peak_bytes() noexcept;

/// A block of the current GPU that grows at its end without moving: address space is reserved far ahead, memory is
/// mapped into it in granules. Where the GPU or its driver cannot do that, it grows by copying. New memory is zeroed on
/// `stream`, on which all use of the block must be, in turn with the operations of `backend`, which outlives the block.
[[nodiscard]] std::unique_ptr<GrowingMemory> make_growing_memory(const CudaBackend& backend, cudaStream_t stream);

}  // namespace lingbot_map::cuda
