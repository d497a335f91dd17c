// In place of flashinfer_fa3.cu where the build has no code for compute capability 9.0.

#include "attention/cuda/flashinfer_fa3.hpp"

namespace lingbot_map::cuda {
namespace {

[[noreturn]] void absent() { fail(ErrorCode::internal, "internal error: FlashAttention-3 is not in this build"); }

}  // namespace

FlashInferFa3::FlashInferFa3(int heads, DType dtype, Reading reading)
    : heads_(heads), dtype_(dtype), reading_(reading) {
  absent();
}
bool FlashInferFa3::available() { return false; }
void FlashInferFa3::reserve_tokens(std::int64_t, cudaStream_t) { absent(); }
void FlashInferFa3::plan_range(std::int64_t, std::int64_t, std::int64_t, int, cudaStream_t) { absent(); }
void FlashInferFa3::run(const Tensor&, const Tensor&, const Tensor&, const Tensor&, cudaStream_t) const { absent(); }
std::size_t FlashInferFa3::workspace_bytes() const noexcept { return 0; }

}  // namespace lingbot_map::cuda
