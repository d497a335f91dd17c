#include "attention/cuda/gather_pages.hpp"
#include "backend/cuda/check.hpp"

namespace lingbot_map::cuda {
namespace {

__global__ void gather_kernel(const float* __restrict__ from, std::int64_t from_stride,
                              const std::int64_t* __restrict__ pages, std::int64_t page_size, std::int64_t width,
                              float* __restrict__ to) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t row = pages[token / page_size] * page_size + token % page_size;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) to[token * width + i] = from[row * from_stride + i];
}

}  // namespace

void gather_pages(const float* from, std::int64_t from_stride, const std::int64_t* pages, std::int64_t page_size,
                  std::int64_t tokens, std::int64_t width, float* to, cudaStream_t stream) {
  gather_kernel<<<static_cast<unsigned>(tokens), 128, 0, stream>>>(from, from_stride, pages, page_size, width, to);
  check_launch("gather_pages");
}

}  // namespace lingbot_map::cuda
