#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lingbot_map::cuda {

/// to[t] = from[pages[t / page_size] * page_size + t % page_size] for float32 rows [tokens, width]; pages on the
/// device.
void gather_pages(const float* from, std::int64_t from_stride, const std::int64_t* pages, std::int64_t page_size,
                  std::int64_t tokens, std::int64_t width, float* to, cudaStream_t stream);

}  // namespace lingbot_map::cuda
