#include "backend/make_backend.hpp"

#include "backend/cpu/cpu_backend.hpp"

namespace lingbot_map {

std::unique_ptr<Backend> make_backend(Device device, int threads) {
  if (device.kind == Device::Kind::cpu) return std::make_unique<CpuBackend>(threads);
  fail(ErrorCode::unsupported, "device ", device.to_string(), ": this build has no CUDA back end; take --device cpu");
}

}  // namespace lingbot_map
