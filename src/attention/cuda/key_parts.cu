#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

#include "attention/cuda/key_parts.hpp"
#include "backend/cuda/check.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

constexpr int kCombineThreads = 256;
constexpr std::int64_t kMostParts = 256;

__device__ void store_four(float* out, float4 value) { *reinterpret_cast<float4*>(out) = value; }

__device__ void store_four(__half* out, float4 value) {
  auto* pairs = reinterpret_cast<__half2*>(out);
  pairs[0] = __floats2half2_rn(value.x, value.y);
  pairs[1] = __floats2half2_rn(value.z, value.w);
}

__device__ void store_four(__nv_bfloat16* out, float4 value) {
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(out);
  pairs[0] = __floats2bfloat162_rn(value.x, value.y);
  pairs[1] = __floats2bfloat162_rn(value.z, value.w);
}

/// One thread for four elements of a row's head.
template <typename T>
__global__ __launch_bounds__(kCombineThreads) void combine_kernel(PartialResults partial, int parts, std::int64_t rows,
                                                                  int heads, int head_dim, T* out,
                                                                  std::int64_t out_stride) {
  const int quads = head_dim / 4;
  const std::int64_t index = std::int64_t{blockIdx.x} * kCombineThreads + threadIdx.x;
  if (index >= rows * heads * quads) return;
  const std::int64_t row_head = index / quads;
  const int column = static_cast<int>(index % quads) * 4;
  const std::int64_t part_rows = rows * heads;

  float top = -INFINITY;
  for (int part = 0; part < parts; ++part) top = fmaxf(top, partial.sums[part * part_rows + row_head].x);
  float total = 0;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int part = 0; part < parts; ++part) {
    const std::int64_t place = part * part_rows + row_head;
    const float2 state = partial.sums[place];
    const float weight = state.x == -INFINITY ? 0.0f : exp2f(state.x - top);
    const float4 value = *reinterpret_cast<const float4*>(partial.outputs + place * head_dim + column);
    total += weight * state.y;
    sum.x += weight * value.x;
    sum.y += weight * value.y;
    sum.z += weight * value.z;
    sum.w += weight * value.w;
  }
  const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
  store_four(out + (row_head / heads) * out_stride + (row_head % heads) * head_dim + column,
             make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse));
}

std::int64_t rows_of(const AttentionCall& call) { return call.groups * call.queries; }

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

}  // namespace

DeviceLimits device_limits() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "finding the current GPU");
  DeviceLimits limits;
  const auto ask = [device](cudaDeviceAttr attribute, int& value) {
    check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "reading the GPU's limits");
  };
  ask(cudaDevAttrMultiProcessorCount, limits.processors);
  ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, limits.shared_per_block);
  ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor, limits.shared_per_processor);
  ask(cudaDevAttrComputeCapabilityMajor, limits.major);
  return limits;
}

void check_call(const AttentionCall& call, const char* name) {
  const std::int64_t width = std::int64_t{call.heads} * call.head_dim;
  const int elements = call.dtype == DType::f32 ? 4 : 8;  // in 16 bytes
  check(call.groups >= 1 && call.queries >= 1 && call.heads >= 1 && call.keys >= 1, name,
        ": empty sizes: ", call.groups, " groups, ", call.queries, " queries, ", call.heads, " heads, ", call.keys,
        " keys");
  check(call.q_stride >= width && call.kv_stride >= width && call.out_stride >= width &&
            (call.q_stride | call.kv_stride | call.out_stride) % elements == 0,
        name, ": strides ", call.q_stride, ", ", call.kv_stride, ", ", call.out_stride, ", expected multiples of ",
        elements, " of at least ", width);
  check(aligned(call.q) && aligned(call.k) && aligned(call.v) && aligned(call.out), name, ": memory not aligned to 16");
}

int parts_of_keys(std::int64_t items, std::int64_t slots, std::int64_t longest) {
  const auto filled = [items, slots](std::int64_t parts) {
    const std::int64_t blocks = items * parts;
    const std::int64_t waves = (blocks + slots - 1) / slots;
    return static_cast<double>(blocks) / static_cast<double>(waves * slots);
  };
  const std::int64_t most = std::clamp(slots / items, std::int64_t{16}, kMostParts);
  double best = 0;
  for (std::int64_t parts = 1; parts <= most; ++parts) best = std::max(best, filled(parts));
  std::int64_t wanted = 1;
  while (filled(wanted) < 0.9 * best) ++wanted;
  return static_cast<int>(std::clamp(longest, std::int64_t{1}, wanted));
}

std::size_t partial_bytes(const AttentionCall& call, int parts) {
  if (parts == 1) return 0;
  return static_cast<std::size_t>(parts * rows_of(call) * call.heads) *
         (static_cast<std::size_t>(call.head_dim) * sizeof(float) + sizeof(float2));
}

PartialResults partial_results(const AttentionCall& call, int parts) {
  if (parts == 1) return {};
  check(call.workspace_bytes >= partial_bytes(call, parts), "attention: workspace of ", call.workspace_bytes,
        " bytes, expected ", partial_bytes(call, parts));
  check(aligned(call.workspace), "attention: workspace not aligned to 16");
  auto* outputs = static_cast<float*>(call.workspace);
  return {outputs, reinterpret_cast<float2*>(outputs + parts * rows_of(call) * call.heads * call.head_dim)};
}

void combine_parts(const AttentionCall& call, const PartialResults& partial, int parts, cudaStream_t stream) {
  const std::int64_t threads = rows_of(call) * call.heads * (call.head_dim / 4);
  const auto blocks = static_cast<unsigned>((threads + kCombineThreads - 1) / kCombineThreads);
  const auto launch = [&]<typename T>(T* out) {
    combine_kernel<<<blocks, kCombineThreads, 0, stream>>>(partial, parts, rows_of(call), call.heads, call.head_dim,
                                                           out, call.out_stride);
  };
  if (call.dtype == DType::f32) launch(static_cast<float*>(call.out));
  if (call.dtype == DType::f16) launch(static_cast<__half*>(call.out));
  if (call.dtype == DType::bf16) launch(static_cast<__nv_bfloat16*>(call.out));
  check_launch("combining parts of an attention");
}

}  // namespace lingbot_map::cuda
