#include "attention/attention.hpp"

#include "attention/sdpa_cpu.hpp"
#ifdef LINGBOT_MAP_HAS_CUDA
#include "attention/cuda/make_cuda_attention.hpp"
#endif

namespace lingbot_map {

std::string_view name_of(AttentionKind kind) noexcept {
  switch (kind) {
    case AttentionKind::automatic: return "auto";
    case AttentionKind::sdpa: return "sdpa";
    case AttentionKind::flashinfer: return "flashinfer";
  }
  return "?";
}

std::unique_ptr<Attention> make_attention(Backend& backend, AttentionKind kind, DType dtype,
                                          [[maybe_unused]] int heads) {
#ifdef LINGBOT_MAP_HAS_CUDA
  if (backend.device().kind == Device::Kind::cuda) return cuda::make_cuda_attention(backend, kind, dtype, heads);
#endif
  auto* cpu = dynamic_cast<CpuBackend*>(&backend);
  check(cpu != nullptr && (dtype == DType::f32 || dtype == DType::bf16), "no attention in ", name_of(dtype), " for ",
        backend.device().to_string());
  if (kind == AttentionKind::flashinfer) {
    fail(ErrorCode::unsupported,
         "attention back end 'flashinfer' needs an NVIDIA GPU; on the CPU take 'sdpa' or 'auto'");
  }
  return std::make_unique<SdpaCpu>(*cpu);
}

}  // namespace lingbot_map
