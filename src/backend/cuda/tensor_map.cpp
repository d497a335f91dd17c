#include "backend/cuda/tensor_map.hpp"

#include <cuda_runtime_api.h>

#include "backend/cuda/check.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {

EncodeTensorMap encode_tensor_map() {
  static const EncodeTensorMap encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
               "looking for cuTensorMapEncodeTiled");
#else
    check_cuda(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found),
               "looking for cuTensorMapEncodeTiled");
#endif
    check(found == cudaDriverEntryPointSuccess && function != nullptr, "the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<EncodeTensorMap>(function);
  }();
  return encode;
}

}  // namespace lingbot_map::cuda
