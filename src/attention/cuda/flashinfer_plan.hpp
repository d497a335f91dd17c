#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "backend/cuda/check.hpp"
#include "base/message.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map::cuda {

/// Head size that FlashInfer's kernels are instantiated for.
inline constexpr int kFlashInferHeadDim = 64;

/// All that a launch of a planned kernel takes from its plan by value: grid, tile, offsets and addresses. A run
/// captured in a CUDA graph may be replayed after a later plan exactly when both plans have equal signatures and the
/// tensors of the run are at the same addresses with the same strides. All else (lengths, page table, split of the
/// work) is read from device memory that the later plan has refilled.
struct CaptureSignature {
  std::array<std::int64_t, 24> baked{};
  friend bool operator==(const CaptureSignature&, const CaptureSignature&) = default;
};

struct DeviceFree {
  void operator()(void* memory) const noexcept { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<std::byte, DeviceFree>;

/// Uninitialised device memory; throws Error(resource).
[[nodiscard]] DeviceMemory allocate_device(std::size_t bytes, const char* what);

/// The integers of a plan: one buffer on the device, at a fixed address for kernels and graphs to read, and two
/// page-locked ones on the host that take turns, so that a plan never overwrites what an earlier copy still reads.
/// begin(), copies to device() enqueued on the stream, end() make one plan.
class PlanMemory {
 public:
  PlanMemory() = default;
  PlanMemory(const PlanMemory&) = delete;
  PlanMemory& operator=(const PlanMemory&) = delete;
  ~PlanMemory() = default;

  /// Holds at least `bytes`, in powers of two. When it has to grow, contents and addresses change and `stream` is
  /// waited for. Throws Error(resource).
  void reserve(std::size_t bytes, cudaStream_t stream);

  /// The host buffer of this plan. Waits for the copies of the plan before the last one, nothing else.
  [[nodiscard]] std::byte* begin();
  /// All copies from the host buffer are enqueued on `stream`.
  void end(cudaStream_t stream);

  [[nodiscard]] std::byte* device() const noexcept { return device_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct HostFree {
    void operator()(void* memory) const noexcept { cudaFreeHost(memory); }
  };
  struct EventDestroy {
    void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
  };
  struct HostBuffer {
    std::unique_ptr<std::byte, HostFree> memory;
    std::unique_ptr<CUevent_st, EventDestroy> copied;
  };

  DeviceMemory device_;
  std::array<HostBuffer, 2> host_;
  std::size_t turn_ = 0;
  std::size_t bytes_ = 0;
};

/// Throws Error(internal) unless `rows` is what the kernels read: `dtype`, at least `tokens` rows of heads * 64
/// elements, the first on a 16-byte border, a multiple of 8 elements apart.
void check_attention_rows(const Tensor& rows, const char* name, DType dtype, int heads, std::int64_t tokens);

/// Calls code of FlashInfer's headers: a CUDA error or an exception of theirs becomes an Error that names `what`.
template <typename Call>
void call_flashinfer(const char* what, Call&& call) {
  cudaError_t result = cudaSuccess;
  try {
    result = call();
  } catch (const std::exception& error) {
    fail(ErrorCode::internal, what, ": ", error.what());
  }
  check_cuda(result, what);
}

}  // namespace lingbot_map::cuda
