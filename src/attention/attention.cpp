#include "attention/attention.hpp"

#include "attention/sdpa_cpu.hpp"

namespace lingbot_map {

std::string_view name_of(AttentionKind kind) noexcept {
  switch (kind) {
    case AttentionKind::automatic: return "auto";
    case AttentionKind::sdpa: return "sdpa";
    case AttentionKind::flashinfer: return "flashinfer";
  }
  return "?";
}

std::unique_ptr<Attention> make_attention(Backend& backend, AttentionKind kind, DType) {
  auto* cpu = dynamic_cast<CpuBackend*>(&backend);
  check(cpu != nullptr, "no attention for ", backend.device().to_string());
  if (kind == AttentionKind::flashinfer) {
    fail(ErrorCode::unsupported,
         "attention back end 'flashinfer' needs an NVIDIA GPU; on the CPU take 'sdpa' or 'auto'");
  }
  return std::make_unique<SdpaCpu>(*cpu);
}

}  // namespace lingbot_map
