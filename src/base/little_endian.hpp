#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace lingbot_map {

/// The unsigned integer stored least significant byte first at `offset`. The caller has checked that it lies inside.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T load_le(std::string_view bytes, std::size_t offset = 0) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value =
        static_cast<T>((static_cast<unsigned long long>(value) << 8) | static_cast<unsigned char>(bytes[offset + i]));
  }
  return value;
}

template <std::unsigned_integral T>
void append_le(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
}

}  // namespace lingbot_map
