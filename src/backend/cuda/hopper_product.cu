#include <cuda.h>

#include <limits>

#include "backend/cuda/check.hpp"
#include "backend/cuda/hopper_product.hpp"
#include "backend/cuda/hopper_product_kernel.cuh"
#include "backend/cuda/tensor_map.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {

namespace hopper_gemm {

/// A matrix [rows, columns], copied in boxes of `box_rows` rows and kDepth columns; zeros outside.
CUtensorMap make_map(const void* base, bool is_bf16, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                     int box_rows) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride) * 2};
  const cuuint32_t box[] = {kDepth, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result = encode_tensor_map()(
      &map, is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(base),
      sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled: error ", static_cast<int>(result), " for ", rows, " rows of ",
        columns, " with stride ", stride);
  return map;
}

template <typename Tuned>
void launch(const HopperProduct& call, const Work& output, cudaStream_t stream) {
  const std::int64_t tiles_down = (call.rows + kTileRows - 1) / kTileRows;
  const std::int64_t tiles_across = (call.out + Tuned::kColumns - 1) / Tuned::kColumns;
  const std::int64_t clusters_down = (tiles_down + Tuned::kDown - 1) / Tuned::kDown;
  const std::int64_t clusters_across = (tiles_across + Tuned::kAcross - 1) / Tuned::kAcross;
  const std::int64_t blocks = clusters_down * clusters_across * Tuned::kCluster;
  check(blocks <= std::numeric_limits<int>::max(), "a product of ", call.rows, " rows and ", call.out, " columns");
  const CUtensorMap x = make_map(call.x, call.is_bf16, call.rows, call.in, call.x_stride, kTileRows / Tuned::kAcross);
  const CUtensorMap weights =
      make_map(call.weights, call.is_bf16, call.out, call.in, call.weight_stride, Tuned::kColumns / Tuned::kDown);
  Work work = output;
  work.rows = static_cast<int>(call.rows);
  work.columns = static_cast<int>(call.out);
  work.steps = static_cast<int>(call.in / kDepth);
  work.cluster_rows = static_cast<int>(clusters_down);
  work.bias = call.bias;

  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(Tuned::kCluster), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = Layout<Tuned>::kBytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = call.starts_early ? 2 : 1;
  const auto kernel = product_kernel<Tuned>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(config.dynamicSmemBytes)),
             "shared memory of a product");
  check_cuda(cudaLaunchKernelEx(&config, kernel, x, weights, work), "a product");
}

// As measured on an H200 for the 1005 rows of a frame. Clusters of four and more blocks of this size leave
// multiprocessors idle: only 120 of 132 can hold them.
template <typename Element>
using ForHeads = Tuning<Element, Epilogue::heads, false, 192, 2, 1, 1>;
template <typename Element>
using ForGelu = Tuning<Element, Epilogue::gelu, false, 256, 1, 1, 1>;
template <typename Element>
using ForAdd = Tuning<Element, Epilogue::add, true, 128, 1, 1, 2>;
template <typename Element>
using ForAddToMany = Tuning<Element, Epilogue::add, true, 256, 2, 1, 1>;
template <typename Element>
using ForFloat = Tuning<Element, Epilogue::plain, true, 128, 2, 1, 1>;
template <typename Element>
using ForRounded = Tuning<Element, Epilogue::plain, false, 128, 2, 1, 1>;

/// From so many tiles of 128 x 256 on they fill the device without sharing the depth.
inline constexpr std::int64_t kManyTiles = 128;

template <typename Element>
void run(const HopperProduct& call, const HeadsEpilogue& heads, cudaStream_t stream) {
  Work work{};
  work.heads = heads.split;
  launch<ForHeads<Element>>(call, work, stream);
}

template <typename Element>
void run(const HopperProduct& call, const GeluEpilogue& gelu, cudaStream_t stream) {
  Work work{};
  work.y = gelu.y;
  work.y_stride = gelu.y_stride;
  launch<ForGelu<Element>>(call, work, stream);
}

template <typename Element>
void run(const HopperProduct& call, const AddEpilogue& add, cudaStream_t stream) {
  Work work{};
  work.y = add.y;
  work.y_stride = add.y_stride;
  work.scale = add.scale;
  const std::int64_t tiles = ((call.rows + kTileRows - 1) / kTileRows) * ((call.out + 255) / 256);
  if (tiles < kManyTiles) {
    launch<ForAdd<Element>>(call, work, stream);
  } else {
    launch<ForAddToMany<Element>>(call, work, stream);
  }
}

template <typename Element>
void run(const HopperProduct& call, const PlainEpilogue& plain, cudaStream_t stream) {
  Work work{};
  work.y = plain.y;
  work.y_stride = plain.y_stride;
  if (plain.is_float32) {
    launch<ForFloat<Element>>(call, work, stream);
  } else {
    launch<ForRounded<Element>>(call, work, stream);
  }
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }
/// Rows of `width` elements or more.
bool fits(std::int64_t stride, std::int64_t width) { return stride % 8 == 0 && stride >= width; }

bool takes(const HopperProduct& call, const HeadsEpilogue& epilogue) {
  const SplitHeads& heads = epilogue.split;
  const std::int64_t width = std::int64_t{heads.heads} * kHeadDim;
  const int pairs = heads.temporal_pairs + heads.spatial_pairs;
  return heads.heads > 0 && heads.head_dim == kHeadDim && call.out == 3 * width && heads.frames > 0 &&
         heads.tokens > 0 && heads.frames * heads.tokens == call.rows && (pairs == 0 || pairs == kHeadDim / 2) &&
         aligned(heads.q) && aligned(heads.keys) && aligned(heads.values) && fits(heads.q_stride, width) &&
         fits(heads.keys_stride, width) && fits(heads.values_stride, width);
}

template <typename Rows>
bool takes(const HopperProduct& call, const Rows& rows) {
  return aligned(rows.y) && fits(rows.y_stride, call.out);
}

}  // namespace hopper_gemm

bool hopper_product_available(int compute_capability) {
#ifdef LINGBOT_MAP_HAS_SM90A
  return compute_capability == 90;
#else
  static_cast<void>(compute_capability);
  return false;
#endif
}

bool hopper_product_supports(const HopperProduct& call) {
  using hopper_gemm::aligned;
  using hopper_gemm::fits;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  constexpr std::int64_t kMostStride = std::int64_t{1} << 38;
  return call.rows > 0 && call.rows <= kMost && call.in > 0 && call.in <= kMost && call.in % hopper_gemm::kDepth == 0 &&
         call.out > 0 && call.out <= kMost && call.out % 64 == 0 && aligned(call.x) && aligned(call.weights) &&
         aligned(call.bias) && fits(call.x_stride, call.in) && fits(call.weight_stride, call.in) &&
         call.x_stride < kMostStride && call.weight_stride < kMostStride &&
         std::visit([&](const auto& epilogue) { return hopper_gemm::takes(call, epilogue); }, call.epilogue);
}

void hopper_product(const HopperProduct& call, cudaStream_t stream) {
  check(hopper_product_supports(call), "a product of [", call.rows, ", ", call.in, "] by [", call.out, ", ", call.in,
        "] with strides ", call.x_stride, " and ", call.weight_stride, " does not fit its kernel");
  std::visit(
      [&](const auto& epilogue) {
        if (call.is_bf16) {
          hopper_gemm::run<__nv_bfloat16>(call, epilogue, stream);
        } else {
          hopper_gemm::run<__half>(call, epilogue, stream);
        }
      },
      call.epilogue);
}

}  // namespace lingbot_map::cuda
