#include "backend/make_backend.hpp"

#include "backend/cpu/cpu_backend.hpp"
#ifdef LINGBOT_MAP_HAS_CUDA
#include "backend/cuda/cuda_backend.hpp"
#endif

namespace lingbot_map {

std::unique_ptr<Backend> make_backend(Device device, int threads) {
  if (device.kind == Device::Kind::cpu) return std::make_unique<CpuBackend>(threads);
#ifdef LINGBOT_MAP_HAS_CUDA
  return std::make_unique<CudaBackend>(device.index);
#else
  fail(ErrorCode::unsupported, "device ", device.to_string(),
       ": this build has no CUDA back end; take --device cpu, or build with -DLINGBOT_MAP_CUDA=ON");
#endif
}

}  // namespace lingbot_map
