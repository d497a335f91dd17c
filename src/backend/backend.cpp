#include "backend/backend.hpp"

namespace lingbot_map {

DType storage_of(Precision precision) noexcept {
  switch (precision) {
    case Precision::f32:
    case Precision::tf32: return DType::f32;
    case Precision::bf16: return DType::bf16;
    case Precision::f16: return DType::f16;
  }
  return DType::f32;
}

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return Precision::f32;
    case DType::bf16: return Precision::bf16;
    case DType::f16: return Precision::f16;
    default: fail(ErrorCode::internal, "products of type ", name_of(dtype));
  }
}

Backend::Overhead Backend::overhead(std::int64_t, DType) const { return {}; }

}  // namespace lingbot_map
