#include "backend/cuda/check.hpp"

#include "base/message.hpp"

namespace lingbot_map::cuda {

void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  if (result == cudaErrorMemoryAllocation) {
    fail(ErrorCode::resource, what, ": out of GPU memory; take a smaller window, fewer scale frames or smaller frames");
  }
  fail(ErrorCode::internal, what, ": ", cudaGetErrorString(result), " (", cudaGetErrorName(result), ")");
}

void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

}  // namespace lingbot_map::cuda
