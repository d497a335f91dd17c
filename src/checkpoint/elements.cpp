#include "checkpoint/elements.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/bf16.hpp"
#include "base/message.hpp"

namespace lingbot_map {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are copied as they are");

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
constexpr std::size_t kBufferElements = std::size_t{1} << 18;

// half_to_float() without branches, so that the loop over it becomes vector code.
float widen_half(std::uint16_t half) noexcept {
  const std::uint32_t magnitude = (half & 0x7fffU) << 13;
  const float value = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t special = value >= 65536.0F ? 0x7f800000U : 0U;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | special | sign);
}

template <typename Stored, typename Widen>
void widen(std::span<const std::byte> bytes, std::span<float> out, Widen&& to_float) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = to_float(value);
  }
}

template <typename Stored>
void widen_number(std::span<const std::byte> bytes, std::span<float> out) {
  widen<Stored>(bytes, out, [](Stored value) { return static_cast<float>(value); });
}

// A double past the range of float has no defined conversion.
float narrow(double value) noexcept {
  constexpr double largest = std::numeric_limits<float>::max();
  if (value > largest) return std::numeric_limits<float>::infinity();
  if (value < -largest) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(value);
}

template <typename Narrow>
void narrow_to_16(std::span<const float> values, std::span<std::byte> out, Narrow&& to_bits) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = to_bits(values[i]);
    std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kMostElements) return std::nullopt;
    if (extent != 0 && product > kMostElements / extent) return std::nullopt;
    product *= extent;
  }
  return product;
}

void convert_to_float(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
  check(bytes.size() == out.size() * size_of(dtype), bytes.size(), " bytes for ", out.size(), " ", name_of(dtype));
  switch (dtype) {
    case DType::f32:
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case DType::f16: return widen<std::uint16_t>(bytes, out, widen_half);
    case DType::bf16: return widen<bf16>(bytes, out, [](bf16 value) { return static_cast<float>(value); });
    case DType::f64: return widen<double>(bytes, out, narrow);
    case DType::i64: return widen_number<std::int64_t>(bytes, out);
    case DType::i32: return widen_number<std::int32_t>(bytes, out);
    case DType::i16: return widen_number<std::int16_t>(bytes, out);
    case DType::i8: return widen_number<std::int8_t>(bytes, out);
    case DType::u8: return widen_number<std::uint8_t>(bytes, out);
    case DType::boolean:
      return widen<std::uint8_t>(bytes, out, [](std::uint8_t value) { return value != 0 ? 1.0F : 0.0F; });
  }
}

void convert_from_float(std::span<const float> values, DType dtype, std::span<std::byte> out) {
  check(out.size() == values.size() * size_of(dtype), out.size(), " bytes for ", values.size(), " ", name_of(dtype));
  switch (dtype) {
    case DType::f32:
      if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
      return;
    case DType::f16: return narrow_to_16(values, out, float_to_half);
    case DType::bf16: return narrow_to_16(values, out, [](float value) { return bf16(value).bits; });
    default: check(false, "weights written as ", name_of(dtype));
  }
}

void read_elements(DType dtype, const ByteReader& read, std::span<float> out) {
  if (dtype == DType::f32) return read(0, std::as_writable_bytes(out));
  std::vector<std::byte> buffer(std::min(out.size(), kBufferElements) * size_of(dtype));
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t count = std::min(out.size() - done, kBufferElements);
    const std::span<std::byte> bytes(buffer.data(), count * size_of(dtype));
    read(done * size_of(dtype), bytes);
    convert_to_float(dtype, bytes, out.subspan(done, count));
    done += count;
  }
}

}  // namespace lingbot_map
