#pragma once

#include <cstdint>

namespace lingbot_map::cuda {

/// The keys of one thread block: rows [begin, end) of the planes.
struct KeyShare {
  std::int64_t begin;
  std::int64_t end;
};

/// Part `part` of `parts` of the keys of a group, cut at multiples of `tile` rows from the first one on. range is
/// AttentionCall::range.
__device__ inline KeyShare key_share(const std::int64_t* range, std::int64_t keys, int group, int part, int parts,
                                     int tile) {
  const std::int64_t first = group * keys + (range != nullptr ? range[0] : 0);
  const std::int64_t rows = range != nullptr ? range[1] : keys;
  const std::int64_t tiles = (rows + tile - 1) / tile;
  const std::int64_t begin = tiles * part / parts * tile;
  const std::int64_t end = tiles * (part + 1) / parts * tile;
  return {first + begin, first + (end < rows ? end : rows)};
}

/// Starts copying 16 bytes to shared memory; zeros and nothing read when not `valid`. Without asynchronous copies in
/// the hardware it is done at once.
__device__ inline void copy_16_bytes(void* shared, const void* global, bool valid) {
#if __CUDA_ARCH__ >= 800
  const auto target = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(target), "l"(__cvta_generic_to_global(global)),
               "r"(valid ? 16 : 0)
               : "memory");
#else
  *static_cast<uint4*>(shared) = valid ? *static_cast<const uint4*>(global) : make_uint4(0, 0, 0, 0);
#endif
}

/// Waits for all copies that this thread has started. Others see them after the next barrier.
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;\n" ::: "memory");
#endif
}

/// 2^x within 2^-22 of itself; what is below 2^-126 becomes 0.
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace lingbot_map::cuda
