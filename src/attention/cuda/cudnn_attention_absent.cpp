#include "attention/cuda/cudnn_attention.hpp"
#include "base/message.hpp"

// Takes the place of cudnn_attention.cpp where the headers of cuDNN were not found at build time.
namespace lingbot_map::cuda {

struct CudnnAttention::Impl {};

namespace {

[[noreturn]] void fail_absent(const CudnnLibrary& library) {
  fail(ErrorCode::unsupported, "cuDNN is not available: ", library.reason());
}

[[noreturn]] void fail_used() { fail(ErrorCode::internal, "internal error: cuDNN was used in a build without it"); }

}  // namespace

CudnnAttention::CudnnAttention(std::shared_ptr<const CudnnLibrary> library) { fail_absent(*library); }
CudnnAttention::CudnnAttention(std::shared_ptr<const CudnnLibrary> library, std::string_view) { fail_absent(*library); }
CudnnAttention::~CudnnAttention() = default;
const CudnnAttentionPlan* CudnnAttention::prepare(const CudnnAttentionShape&) { fail_used(); }
const std::string& CudnnAttention::why_not(const CudnnAttentionShape&) const { fail_used(); }
void CudnnAttention::run(const CudnnAttentionPlan&, const void*, const void*, const void*, void*, const std::int32_t*,
                         const std::int32_t*, void*, cudaStream_t) {
  fail_used();
}

}  // namespace lingbot_map::cuda
