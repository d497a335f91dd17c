#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "backend/backend.hpp"

namespace lingbot_map::tool {

/// Tensors and weights on one device for operations that are measured; it owns their memory. The numbers are the same
/// on every device: the n-th call gets the n-th sequence.
class Operands {
 public:
  explicit Operands(Backend& backend) : backend_(backend) {}

  /// Uniform in [-size, size), of a float type or u8 (any byte).
  [[nodiscard]] Tensor tensor(DType dtype, std::initializer_list<std::int64_t> shape, float size = 1);
  /// i64 [1, n] or [n]: these values.
  [[nodiscard]] Tensor integers(std::initializer_list<std::int64_t> shape, const std::vector<std::int64_t>& values);
  /// [count] float32 around a middle value.
  [[nodiscard]] Buffer values(std::int64_t count, float middle, float size);
  [[nodiscard]] Norm norm(std::int64_t width);
  /// Weights such that outputs are about as large as inputs.
  [[nodiscard]] Linear linear(std::int64_t out, std::int64_t in, Precision precision);

 private:
  [[nodiscard]] std::vector<float> sequence(std::int64_t count, float middle, float size);
  [[nodiscard]] Tensor put(DType dtype, std::initializer_list<std::int64_t> shape, std::span<const std::byte> bytes);

  Backend& backend_;
  std::vector<Buffer> buffers_;
  std::uint64_t sequences_ = 0;
};

}  // namespace lingbot_map::tool
