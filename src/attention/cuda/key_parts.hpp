#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "attention/cuda/portable_attention.hpp"

namespace lingbot_map::cuda {

/// What the choice of a launch needs to know of the current device.
struct DeviceLimits {
  int processors = 0;
  int shared_per_block = 0;  ///< bytes that a block can get when it asks
  int shared_per_processor = 0;
  int major = 0;  ///< compute capability
};
[[nodiscard]] DeviceLimits device_limits();

/// Throws Error(internal) unless the sizes, strides and alignments are what AttentionCall promises.
void check_call(const AttentionCall& call, const char* name);

/// Into how many parts the keys of each of `items` independent blocks are cut so that `slots` blocks that run at a time
/// are well filled; at most `longest`. Never less for a larger `longest`.
[[nodiscard]] int parts_of_keys(std::int64_t items, std::int64_t slots, std::int64_t longest);

/// Partial results of a call whose keys are cut into parts, in its workspace.
struct PartialResults {
  float* outputs = nullptr;  ///< [parts, groups * queries, heads, head_dim]: sums of weight * v, not normalised
  float2* sums = nullptr;    ///< [parts, groups * queries, heads]: (m, sum of weights), weights being 2^(score - m)
};
[[nodiscard]] std::size_t partial_bytes(const AttentionCall& call, int parts);
/// Throws Error(internal) when the workspace is too small or not aligned.
[[nodiscard]] PartialResults partial_results(const AttentionCall& call, int parts);

/// out = the parts' results put together, always in the same order. A part without keys is (0, -infinity, 0).
void combine_parts(const AttentionCall& call, const PartialResults& partial, int parts, cudaStream_t stream);

}  // namespace lingbot_map::cuda
