#include "backend/cuda/cuda_device_info.hpp"

#include <cuda_runtime_api.h>

#include <fstream>
#include <sstream>

#include "backend/cuda/check.hpp"
#include "backend/cuda/memory.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

/// The driver's own version, as its kernel module tells it; the CUDA version that it supports where that is not to be
/// had.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos &&
        word.find('.') != std::string::npos) {
      return word;
    }
  }
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) return "unknown";
  return message("CUDA ", version / 1000, ".", version % 1000 / 10);
}

}  // namespace

DeviceInfo cuda_device_info(int device) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || device < 0 || device >= count) {
    (void)cudaGetLastError();
    fail(ErrorCode::unsupported, "device cuda:", device, ": ", count, " usable GPUs on this machine");
  }
  int current = 0;
  check_cuda(cudaGetDevice(&current), "asking for the GPU");
  check_cuda(cudaSetDevice(device), "choosing the GPU");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "asking for the GPU's properties");
  DeviceInfo info;
  info.name = properties.name;
  info.driver = driver_version();
  info.compute_capability = 10 * properties.major + properties.minor;
  info.allocated_bytes = allocated_bytes();
  info.peak_bytes = peak_bytes();
  check_cuda(cudaMemGetInfo(&info.free_bytes, &info.total_bytes), "asking for the GPU's memory");
  check_cuda(cudaSetDevice(current), "choosing the GPU");
  return info;
}

}  // namespace lingbot_map::cuda
