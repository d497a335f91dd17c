#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/check.hpp"

namespace lingbot_map::cuda {

// Programmatic dependent launch: from compute capability 9.0 on, a kernel may be started while the one before it still
// runs, fetch what no kernel writes (weights), and wait for the other only then.

/// Waits until all kernels before this one are done and their results are there. Every thread of a kernel launched by
/// launch_early() calls it before it touches anything but weights. What it reads afterwards must not come through
/// pointers that are const and __restrict__: the compiler takes those for constant and reads ahead of the wait.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Allows the next kernel to start as soon as all blocks of this one have.
__device__ __forceinline__ void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Whether the current device can start kernels early.
[[nodiscard]] inline bool can_start_early() {
  static const bool can = [] {
    int device = 0;
    int major = 0;
    check_cuda(cudaGetDevice(&device), "asking for the GPU");
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the GPU");
    return major >= 9;
  }();
  return can;
}

/// Launches a kernel that calls wait_for_previous().
template <typename... Parameters, typename... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream, const char* name,
                  Arguments... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = can_start_early() ? 1 : 0;
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}

}  // namespace lingbot_map::cuda
