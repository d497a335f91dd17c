#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "base/message.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map::cuda {

template <typename T>
__device__ __forceinline__ float to_float(T value) {
  return static_cast<float>(value);
}

/// Rounds to nearest even.
template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __forceinline__ __half from_float<__half>(float value) {
  return __float2half_rn(value);
}

/// Four elements that are loaded or stored at once.
template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

/// Calls action(T()) with the type that an activation of this dtype has on the device.
template <typename Action>
void with_type(DType dtype, const Action& action) {
  switch (dtype) {
    case DType::f32: return action(float());
    case DType::bf16: return action(__nv_bfloat16());
    case DType::f16: return action(__half());
    default: fail(ErrorCode::internal, "internal error: a kernel for ", name_of(dtype));
  }
}

/// max(x, 0); NaN stays, which fmaxf() would hide.
__device__ __forceinline__ float rectified(float x) { return x < 0.0F ? 0.0F : x; }

/// The sum over a warp, the same bits in every lane.
__device__ __forceinline__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

}  // namespace lingbot_map::cuda
