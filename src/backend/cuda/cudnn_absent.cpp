#include "backend/cuda/cudnn_convolution.hpp"
#include "backend/cuda/cudnn_library.hpp"
#include "base/message.hpp"

// Takes the place of the other cudnn_*.cpp where the headers of cuDNN were not found at build time.
namespace lingbot_map::cuda {

struct CudnnFunctions {};
struct CudnnConvolution::Impl {};

namespace {

[[noreturn]] void fail_absent(const CudnnLibrary& library) {
  fail(ErrorCode::unsupported, "cuDNN is not available: ", library.reason());
}

[[noreturn]] void fail_used() { fail(ErrorCode::internal, "internal error: cuDNN was used in a build without it"); }

}  // namespace

CudnnLibrary::CudnnLibrary() : reason_("this build was made without cuDNN's headers; install them and build again") {}
CudnnLibrary::~CudnnLibrary() = default;

std::shared_ptr<const CudnnLibrary> CudnnLibrary::open() {
  return std::shared_ptr<const CudnnLibrary>(new CudnnLibrary());
}

const CudnnFunctions& CudnnLibrary::functions() const { fail_absent(*this); }

CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library) { fail_absent(*library); }
CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library, std::string_view) {
  fail_absent(*library);
}
CudnnConvolution::~CudnnConvolution() = default;
const CudnnConvolutionPlan* CudnnConvolution::prepare(const CudnnConvolutionShape&) { fail_used(); }
const std::string& CudnnConvolution::why_not(const CudnnConvolutionShape&) const { fail_used(); }
void CudnnConvolution::run(const CudnnConvolutionPlan&, const void*, const void*, const float*, void*, void*,
                           cudaStream_t) {
  fail_used();
}

}  // namespace lingbot_map::cuda
