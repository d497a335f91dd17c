#include <cuda_runtime_api.h>

#include "backend/cuda/architectures.hpp"
#include "backend/cuda/check.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

/// Stands for all kernels: they are built for the same architectures.
__global__ void any_kernel() {}

}  // namespace

void check_architecture(int device, const char* name, int major, int minor) {
  check_cuda(cudaSetDevice(device), "choosing the GPU");
  cudaFuncAttributes attributes{};
  const cudaError_t found = cudaFuncGetAttributes(&attributes, any_kernel);
  if (found == cudaSuccess) return;
  (void)cudaGetLastError();
  if (found != cudaErrorNoKernelImageForDevice && found != cudaErrorInvalidDeviceFunction) {
    check_cuda(found, "looking for code for the GPU");
  }
  const char* specific = major == 9 ? "a" : "";  // the kernels for 9.0 are only in code for 90a
  fail(ErrorCode::unsupported, "device cuda:", device, ": ", name, " has compute capability ", major, ".", minor,
       ", this build holds code for ", LINGBOT_MAP_CUDA_ARCHITECTURES,
       "; build with -DLINGBOT_MAP_CUDA_ARCHITECTURES=", major, minor, specific);
}

}  // namespace lingbot_map::cuda
