#pragma once

#include <bit>
#include <cstdint>

namespace lingbot_map {

/// bfloat16 storage: the upper 16 bits of a float32. Conversion from float rounds to nearest, ties to even; NaN stays
/// NaN.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  explicit bf16(float value) noexcept {
    const auto u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffU) > 0x7f800000U) {
      bits = static_cast<std::uint16_t>((u >> 16) | 0x40U);
    } else {
      bits = static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
    }
  }
  explicit operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
static_assert(sizeof(bf16) == 2);

/// IEEE binary16 bits to float32, exact.
[[nodiscard]] float half_to_float(std::uint16_t half) noexcept;
/// float32 to IEEE binary16 bits: nearest, ties to even; overflow gives infinity; NaN stays NaN.
[[nodiscard]] std::uint16_t float_to_half(float value) noexcept;

}  // namespace lingbot_map
