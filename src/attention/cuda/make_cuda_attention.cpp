#include "attention/cuda/make_cuda_attention.hpp"

#include "attention/cuda/cuda_attention.hpp"
#ifdef LINGBOT_MAP_HAS_FLASHINFER
#include "attention/cuda/flashinfer_attention.hpp"
#endif

namespace lingbot_map::cuda {

std::unique_ptr<Attention> make_cuda_attention(Backend& backend, AttentionKind kind, DType dtype,
                                               [[maybe_unused]] int heads) {
  auto* gpu = dynamic_cast<CudaBackend*>(&backend);
  check(gpu != nullptr, "no attention for ", backend.device().to_string());
  if (kind != AttentionKind::flashinfer) return std::make_unique<SdpaCuda>(*gpu, dtype);
#ifdef LINGBOT_MAP_HAS_FLASHINFER
  return std::make_unique<FlashInferAttention>(*gpu, dtype, heads);
#else
  fail(
      ErrorCode::unsupported,
      "attention back end 'flashinfer': this build has none, its headers were not there (make deps fetches them); take "
      "'sdpa' or 'auto'");
#endif
}

}  // namespace lingbot_map::cuda
