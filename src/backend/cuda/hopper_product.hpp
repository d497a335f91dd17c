#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <variant>

#include "backend/cuda/kernels.hpp"

namespace lingbot_map::cuda {

// What becomes of the sums s = x W^T of a product, in float32 until the last store. Outputs are device memory.

/// s + bias is a row of q, k and v heads of 64: what split_heads() does with it. `qkv` and `qkv_stride` are not looked
/// at; q, keys and values have the type of x.
struct HeadsEpilogue {
  SplitHeads split;
};

/// y = gelu(s + bias), exact (erf) to an absolute error of 1e-7, of the type of x.
struct GeluEpilogue {
  void* y = nullptr;
  std::int64_t y_stride = 0;
};

/// y += scale s + bias.
struct AddEpilogue {
  float* y = nullptr;
  std::int64_t y_stride = 0;
  const float* scale = nullptr;  ///< [out]; null: ones
};

/// y = s + bias, float32 or of the type of x.
struct PlainEpilogue {
  void* y = nullptr;
  std::int64_t y_stride = 0;
  bool is_float32 = true;
};

/// One call of hopper_product(). All pointers are device memory, aligned to 16 bytes; strides are in elements.
struct HopperProduct {
  const void* x = nullptr;  ///< [rows, in], bfloat16 or float16
  std::int64_t x_stride = 0;
  const void* weights = nullptr;  ///< [out, in], like x
  std::int64_t weight_stride = 0;
  const float* bias = nullptr;  ///< [out]; null: none
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool is_bf16 = true;
  std::variant<HeadsEpilogue, GeluEpilogue, AddEpilogue, PlainEpilogue> epilogue;

  /// The kernel may be started while the kernel before it on the stream still runs, and waits for it by itself before
  /// it touches anything but weights, bias and scale. Those no running kernel may write.
  bool starts_early = false;
};

/// Whether this build holds the kernels and a device of this compute capability (90 for 9.0) runs them.
[[nodiscard]] bool hopper_product_available(int compute_capability);

/// Whether hopper_product() takes this call: at least one row; `in` and `out` multiples of 64; strides of 8; everything
/// aligned to 16 bytes; heads of 64, turned whole or not at all.
[[nodiscard]] bool hopper_product_supports(const HopperProduct& call);

/// The product and its epilogue in one kernel. Needs no workspace, allocates nothing and never waits, so that it can be
/// captured as a graph. Equal inputs give equal bits, whatever else runs. Throws Error(internal) on a call that
/// hopper_product_supports() refuses.
///
/// Method: a block makes a tile of 128 rows: one warp has the copy engine fill a ring of stages of x and W, two
/// warpgroups multiply them with wgmma. Blocks of a cluster share what they copy. Where there are too few tiles to fill
/// the device, the blocks of a cluster share the depth of a tile too, and add their sums up through each other's shared
/// memory in a fixed order.
void hopper_product(const HopperProduct& call, cudaStream_t stream);

}  // namespace lingbot_map::cuda
