#include "backend/cuda/convolutions.hpp"

#include <optional>

namespace lingbot_map::cuda {
namespace {

const CudaMatrix& weights_of(const Convolution& convolution) {
  const auto* matrix = dynamic_cast<const CudaMatrix*>(convolution.product.weight.get());
  check(matrix != nullptr, "weights of another back end");
  return *matrix;
}

std::optional<CudnnEpilogue> epilogue_of(Activation activation, bool bias) {
  switch (activation) {
    case Activation::none: return bias ? CudnnEpilogue::bias : CudnnEpilogue::none;
    case Activation::relu: return bias ? std::optional(CudnnEpilogue::bias_relu) : std::nullopt;
    case Activation::add_to_target: return bias ? std::optional(CudnnEpilogue::bias_add) : std::nullopt;
    case Activation::gelu: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Convolutions::Convolutions() {
  const auto library = CudnnLibrary::open();
  if (!library->available()) {
    description_ = "no cuDNN (" + library->reason() + ")";
    return;
  }
  description_ = "cuDNN " + library->version();
  cudnn_ = std::make_unique<CudnnConvolution>(library);
}

const CudnnConvolutionPlan* Convolutions::plan(const Tensor& x, const Convolution& convolution, Activation activation,
                                               const Tensor& y) {
  const CudaMatrix& weights = weights_of(convolution);
  const auto epilogue = epilogue_of(activation, !convolution.product.bias.empty());
  const bool plain = weights.stride() == weights.in() && weights.dtype() == DType::f32 && x.contiguous() &&
                     reinterpret_cast<std::uintptr_t>(x.raw()) % 16 == 0 &&
                     reinterpret_cast<std::uintptr_t>(y.raw()) % 16 == 0;
  if (!cudnn_ || !epilogue || !plain) return nullptr;
  return cudnn_->prepare(
      {.height = x.dim(0),
       .width = x.dim(1),
       .in = x.dim(2),
       .out = weights.out(),
       .kernel = convolution.kernel,
       .stride = convolution.stride,
       .padding = convolution.padding,
       .precision = weights.precision() == Precision::tf32 ? CudnnPrecision::tf32 : CudnnPrecision::f32,
       .epilogue = *epilogue,
       .output = DType::f32});
}

void Convolutions::run(const CudnnConvolutionPlan& plan, const Tensor& x, const Convolution& convolution,
                       const Tensor& y, void* workspace, cudaStream_t stream) {
  cudnn_->run(plan, x.raw(), weights_of(convolution).data(), static_cast<const float*>(convolution.product.bias.data()),
              y.raw(), workspace, stream);
}

}  // namespace lingbot_map::cuda
