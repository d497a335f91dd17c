#include "base/sha256_blocks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace lingbot_map::detail {

#if defined(__x86_64__)
namespace {

__attribute__((target("sha,sse4.1"))) void compress(std::array<std::uint32_t, 8>& state, const std::byte* data,
                                                    std::size_t blocks) {
  // The instructions hold the state as ABEF and CDGH, the first letter in the highest lane.
  const auto load = [](const void* from) __attribute__((target("sse2"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  const __m128i from_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

  for (; blocks != 0; --blocks, data += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];  // the last 16 words of the message schedule, as a ring
#pragma GCC unroll 16
    for (int step = 0; step < 16; ++step) {  // four rounds each
      __m128i& words = w[step % 4];
      if (step < 4) {
        words = _mm_shuffle_epi8(load(data + 16 * step), from_big_endian);
      } else {
        const __m128i last = w[(step + 3) % 4];
        const __m128i seven_back = _mm_alignr_epi8(last, w[(step + 2) % 4], 4);
        words = _mm_sha256msg1_epu32(words, w[(step + 1) % 4]);
        words = _mm_sha256msg2_epu32(_mm_add_epi32(words, seven_back), last);
      }
      const __m128i rounds = _mm_add_epi32(words, load(&kSha256Constants[4 * step]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, rounds);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(rounds, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace

Sha256Compress sha256_compress_by_instructions() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool has_sha = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 29 & 1U) != 0;
  return has_sha && __builtin_cpu_supports("sse4.1") ? compress : nullptr;
}
#else
Sha256Compress sha256_compress_by_instructions() noexcept { return nullptr; }
#endif

}  // namespace lingbot_map::detail
