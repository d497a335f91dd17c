#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cuda/cudnn_convolution.hpp"
#include "backend/cuda/product.hpp"

namespace lingbot_map::cuda {

/// Convolutions by cuDNN with what happens to their sums in the same kernel; where cuDNN is not installed, or has no
/// engine for a shape, run() says no.
class Convolutions {
 public:
  Convolutions();

  /// "cuDNN 9.19.0", or why there is none.
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  /// The plan for a convolution of contiguous float32 images; null: take another way.
  [[nodiscard]] const CudnnConvolutionPlan* plan(const Tensor& x, const Convolution& convolution, Activation activation,
                                                 const Tensor& y);
  void run(const CudnnConvolutionPlan& plan, const Tensor& x, const Convolution& convolution, const Tensor& y,
           void* workspace, cudaStream_t stream);

 private:
  std::string description_;
  std::unique_ptr<CudnnConvolution> cudnn_;
};

}  // namespace lingbot_map::cuda
