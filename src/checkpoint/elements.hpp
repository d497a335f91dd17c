#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// Product of the extents; 1 for a scalar. Empty when an extent is negative or the product passes 2^48, far beyond any
/// tensor there is, so that bytes and strides computed from it cannot overflow.
[[nodiscard]] std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) noexcept;

/// Elements stored little-endian, one after another, to float32. `bytes` has out.size() elements of `dtype`.
void convert_to_float(DType dtype, std::span<const std::byte> bytes, std::span<float> out);

/// The other way, to f32, f16 or bf16, each rounded to nearest, ties to even.
void convert_from_float(std::span<const float> values, DType dtype, std::span<std::byte> out);

/// Fills `bytes` from a position counted from the first element on.
using ByteReader = std::function<void(std::uint64_t offset, std::span<std::byte> bytes)>;

/// Reads out.size() consecutive elements, through a small buffer where they need conversion.
void read_elements(DType dtype, const ByteReader& read, std::span<float> out);

}  // namespace lingbot_map
