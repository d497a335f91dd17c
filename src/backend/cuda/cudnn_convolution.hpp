#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/cudnn_library.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map::cuda {

/// What goes in and how products are made; sums are float32 in all of them.
enum class CudnnPrecision : std::uint8_t {
  f32,   ///< float32 images and weights, exact products
  tf32,  ///< float32 images and weights, products may be rounded to TF32
  bf16,  ///< bfloat16 images and weights
  f16,   ///< binary16 images and weights
};

/// What happens to the sums before they are stored.
enum class CudnnEpilogue : std::uint8_t {
  none,
  bias,       ///< + bias
  bias_relu,  ///< max(sum + bias, 0)
  bias_add,   ///< y += sum + bias
};

/// One convolution of one image: x [height, width, in], weights [out, kernel, kernel, in], bias [out] float32,
/// y [output_height(), output_width(), out]; all contiguous, zeros around the image.
struct CudnnConvolutionShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  CudnnPrecision precision = CudnnPrecision::f32;
  CudnnEpilogue epilogue = CudnnEpilogue::none;
  /// f32, or the type of the images.
  DType output = DType::f32;
  /// Take no engine that compiles its kernel at run time, which costs 0.3 s to several seconds for each shape.
  bool ready_made = false;
  /// How many of cuDNN's proposals are passed over: 0 takes its first choice.
  int rank = 0;

  [[nodiscard]] std::int64_t output_height() const noexcept { return (height + 2 * padding - kernel) / stride + 1; }
  [[nodiscard]] std::int64_t output_width() const noexcept { return (width + 2 * padding - kernel) / stride + 1; }
  friend auto operator<=>(const CudnnConvolutionShape&, const CudnnConvolutionShape&) = default;
};

/// A convolution compiled for one shape; owned by the CudnnConvolution that made it.
class CudnnConvolutionPlan {
 public:
  virtual ~CudnnConvolutionPlan() = default;
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// Which of cuDNN's engines runs it, for people.
  [[nodiscard]] virtual const std::string& engine() const noexcept = 0;
};

/// Convolutions by cuDNN on the GPU that is current when this object is made. A shape is planned once, always by the
/// same engine; no engine whose bits do not repeat is taken. Calls take turns.
class CudnnConvolution {
 public:
  /// Throws Error(unsupported) when cuDNN is not available.
  explicit CudnnConvolution(std::shared_ptr<const CudnnLibrary> library);
  /// For plans without a GPU: `description` is the text of a GPU's properties in cuDNN's JSON. Such plans do not run.
  CudnnConvolution(std::shared_ptr<const CudnnLibrary> library, std::string_view description);
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  /// The plan of a shape; null when cuDNN has none: then why_not() says why, and the caller takes a simpler epilogue
  /// or another way. Compiles on the first call, so not while a stream is captured.
  [[nodiscard]] const CudnnConvolutionPlan* prepare(const CudnnConvolutionShape& shape);
  [[nodiscard]] const std::string& why_not(const CudnnConvolutionShape& shape) const;

  /// Launches a plan. Pointers are device memory, aligned to 16 bytes; bias is read by every epilogue but `none`;
  /// `workspace` holds workspace_bytes() of the plan and is free again when the work is done. May be captured: the plan
  /// must outlive the captured graph.
  void run(const CudnnConvolutionPlan& plan, const void* x, const void* weights, const float* bias, void* y,
           void* workspace, cudaStream_t stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot_map::cuda
