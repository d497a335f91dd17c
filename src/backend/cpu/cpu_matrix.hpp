#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/matrix.hpp"

namespace lingbot_map::cpu {

/// The CPU back end's Matrix.
class CpuMatrix final : public Matrix {
 public:
  explicit CpuMatrix(PackedMatrix packed) : packed_(std::move(packed)) {}
  [[nodiscard]] std::int64_t in() const noexcept override { return packed_.in; }
  [[nodiscard]] std::int64_t out() const noexcept override { return packed_.out; }
  [[nodiscard]] DType dtype() const noexcept override { return packed_.dtype; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return packed_.buffer.bytes(); }
  [[nodiscard]] const PackedMatrix& packed() const noexcept { return packed_; }

 private:
  PackedMatrix packed_;
};

[[nodiscard]] inline const PackedMatrix& packed(const Linear& linear) {
  const auto* matrix = dynamic_cast<const CpuMatrix*>(linear.weight.get());
  check(matrix != nullptr, "weights of another back end");
  return matrix->packed();
}

[[nodiscard]] inline Epilogue epilogue_of(Activation activation) {
  switch (activation) {
    case Activation::none: return Epilogue::store;
    case Activation::gelu: return Epilogue::gelu;
    case Activation::relu: return Epilogue::relu;
    case Activation::add_to_target: return Epilogue::add;
  }
  return Epilogue::store;
}

[[nodiscard]] inline const float* values(const Buffer& buffer) { return static_cast<const float*>(buffer.data()); }

/// The bias of a product; null when it has none.
[[nodiscard]] inline const float* bias_of(const Linear& linear, std::int64_t out) {
  check(linear.bias.empty() || linear.bias.bytes() == static_cast<std::size_t>(out) * sizeof(float), "bias of ",
        linear.bias.bytes(), " bytes for ", out, " outputs");
  return values(linear.bias);
}

/// Weight and bias of a norm over `width` values.
struct NormValues {
  const float* weight = nullptr;
  const float* bias = nullptr;
};
[[nodiscard]] inline NormValues values(const Norm& norm, std::int64_t width) {
  const auto bytes = static_cast<std::size_t>(width) * sizeof(float);
  check(norm.weight.bytes() == bytes && norm.bias.bytes() == bytes, "norm of width ",
        norm.weight.bytes() / sizeof(float), " with a bias of ", norm.bias.bytes() / sizeof(float), ", expected ",
        width);
  return {values(norm.weight), values(norm.bias)};
}

}  // namespace lingbot_map::cpu
