#include "bench/operands.hpp"

#include <cmath>

#include "checkpoint/elements.hpp"

namespace lingbot_map::tool {
namespace {

/// Bits of a position, well mixed (the finalizer of splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<float> Operands::sequence(std::int64_t count, float middle, float size) {
  const std::uint64_t start = ++sequences_ << 40;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto uniform = static_cast<float>(mixed(start + i) >> 40U) * 0x1p-23F - 1;
    values[i] = middle + size * uniform;
  }
  return values;
}

Tensor Operands::put(DType dtype, std::initializer_list<std::int64_t> shape, std::span<const std::byte> bytes) {
  buffers_.push_back(backend_.allocate(bytes.size()));
  const Tensor view = buffers_.back().view(dtype, shape);
  backend_.upload(bytes, view);
  return view;
}

Tensor Operands::tensor(DType dtype, std::initializer_list<std::int64_t> shape, float size) {
  const Tensor counted(nullptr, dtype, shape);
  std::vector<std::byte> bytes(counted.bytes());
  const std::vector<float> values = sequence(counted.elements(), 0, size);
  if (dtype == DType::u8) {
    for (std::size_t i = 0; i < values.size(); ++i) bytes[i] = static_cast<std::byte>(127.5F * (values[i] + 1));
  } else {
    convert_from_float(values, dtype, bytes);
  }
  return put(dtype, shape, bytes);
}

Tensor Operands::integers(std::initializer_list<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  return put(DType::i64, shape, std::as_bytes(std::span(values)));
}

Buffer Operands::values(std::int64_t count, float middle, float size) {
  const std::vector<float> numbers = sequence(count, middle, size);
  (void)put(DType::f32, {count}, std::as_bytes(std::span(numbers)));
  return buffers_.back();
}

Norm Operands::norm(std::int64_t width) {
  return {.weight = values(width, 1, 0.2F), .bias = values(width, 0, 0.2F), .epsilon = 1e-5F};
}

Linear Operands::linear(std::int64_t out, std::int64_t in, Precision precision) {
  const std::vector<float> weights = sequence(out * in, 0, std::sqrt(3 / static_cast<float>(in)));
  return {.weight = backend_.pack(weights, out, in, precision), .bias = values(out, 0, 0.2F)};
}

}  // namespace lingbot_map::tool
