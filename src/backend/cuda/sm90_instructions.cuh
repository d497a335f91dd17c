#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

/// The instructions of sm_90a that all kernels for it have in common, one function each. Names and rules: PTX ISA,
/// chapters mbarrier, cp.async.bulk.tensor and wgmma. Only code compiled for sm_90a may call them.
namespace lingbot_map::cuda::sm90 {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- Barriers in shared memory -------------------------------------------------------------------------------------
__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the whole cluster and to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Arrives and announces `bytes` that copies will bring in this phase.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// ---- Copies --------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// ---- Registers -----------------------------------------------------------------------------------------------------
template <int count>
__device__ __forceinline__ void registers_release() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count>
__device__ __forceinline__ void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// Two values rounded to nearest even, `low` in the lower half.
template <typename Element>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t both;
  if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  }
  return both;
}

// ---- Products of a warpgroup ---------------------------------------------------------------------------------------
/// A tile with rows of 128 bytes in the 128-byte swizzle, its groups of 8 rows 1024 bytes apart; the address is a
/// multiple of 1024, plus 32 for each step of 16 columns of a K-major operand or 2048 for each 16 rows of an N-major
/// one.
__device__ __forceinline__ std::uint64_t tile_descriptor(std::uint32_t address) {
  return (std::uint64_t{1} << 62) | (std::uint64_t{1024 >> 4} << 32) | (std::uint64_t{1} << 16) |
         ((address & 0x3FFFF) >> 4);
}

/// Before the first product, and after registers that products read or write were touched by anything else.
__device__ __forceinline__ void product_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void product_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most `pending` of the latest groups of products are unfinished.
template <int pending>
__device__ __forceinline__ void product_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

}  // namespace lingbot_map::cuda::sm90
