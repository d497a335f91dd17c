#include "backend/cpu/kernels.hpp"

#include <algorithm>
#include <vector>

namespace lingbot_map::cpu {

#if defined(__x86_64__)
const Kernels& kernels_avx512_bf16();
const Kernels& kernels_avx512();
const Kernels& kernels_avx2();
#endif
const Kernels& kernels_generic();

std::span<const Kernels* const> available_kernels() {
  static const std::vector<const Kernels*> sets = [] {
    std::vector<const Kernels*> found;
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && __builtin_cpu_supports("avx512bf16")) found.push_back(&kernels_avx512_bf16());
    if (avx512) found.push_back(&kernels_avx512());
    if (avx2) found.push_back(&kernels_avx2());
#endif
    found.push_back(&kernels_generic());
    return found;
  }();
  return sets;
}

std::size_t attention_scratch_bytes(int queries, int head_dim) {
  // The largest of all sets: blocks of 512 keys, tiles of 12 queries, 4-byte elements, 128 bytes of state a query;
  // 64 bytes of slack for each part.
  constexpr std::size_t kKeyBlock = 512;
  constexpr std::size_t kScoreStride = kKeyBlock + 32;
  constexpr std::size_t kTileRows = 12;
  const auto rows = static_cast<std::size_t>(queries);
  const auto dim = static_cast<std::size_t>(head_dim);
  return rows * dim * 8 + rows * 128 + kKeyBlock * dim * 8 + kTileRows * kScoreStride * 4 + std::size_t{6} * 64;
}

}  // namespace lingbot_map::cpu
