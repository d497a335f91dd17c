#include "backend/cuda/cudnn_convolution.hpp"

#include <array>
#include <map>
#include <utility>

#include "backend/cuda/cudnn_graph.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

using Shape4 = std::array<std::int64_t, 4>;

/// Identifiers of the tensors in memory, in the order in which build_graph() makes them.
constexpr std::size_t kX = 0;
constexpr std::size_t kWeights = 1;
constexpr std::size_t kY = 2;
constexpr std::size_t kBias = 3;
constexpr std::size_t kAddend = 4;

/// Strides of [batch, channels, height, width] whose channels lie next to each other.
Shape4 channels_last(const Shape4& shape) { return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]}; }

DType input_type(CudnnPrecision precision) {
  switch (precision) {
    case CudnnPrecision::bf16: return DType::bf16;
    case CudnnPrecision::f16: return DType::f16;
    default: return DType::f32;
  }
}

CudnnPlan build_plan(const CudnnDevice& device, const CudnnConvolutionShape& shape) {
  const cudnnDataType_t input = cudnn_type(input_type(shape.precision));
  const cudnnDataType_t output = cudnn_type(shape.output);
  const Shape4 x_shape = {1, shape.in, shape.height, shape.width};
  const Shape4 w_shape = {shape.out, shape.in, shape.kernel, shape.kernel};
  const Shape4 y_shape = {1, shape.out, shape.output_height(), shape.output_width()};
  const Shape4 bias_shape = {1, shape.out, 1, 1};
  const Shape4 y_strides = channels_last(y_shape);

  CudnnGraph graph(device);
  const int x = graph.tensor(input, x_shape, channels_last(x_shape));
  const int weights = graph.tensor(input, w_shape, channels_last(w_shape));
  const int y = graph.tensor(output, y_shape, y_strides);
  if (shape.epilogue == CudnnEpilogue::none) {
    graph.convolution(x, weights, y, shape.stride, shape.padding);
  } else {
    const int bias = graph.tensor(CUDNN_DATA_FLOAT, bias_shape, channels_last(bias_shape));
    const int addend = shape.epilogue == CudnnEpilogue::bias_add ? graph.tensor(output, y_shape, y_strides) : -1;
    const int sums = graph.virtual_tensor(CUDNN_DATA_FLOAT, y_shape, y_strides);
    graph.convolution(x, weights, sums, shape.stride, shape.padding);
    int last = sums;
    if (addend >= 0) {  // first the target, then the bias: the order that cuDNN has kernels for
      last = graph.virtual_tensor(CUDNN_DATA_FLOAT, y_shape, y_strides);
      graph.pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, last, sums, addend);
    }
    if (shape.epilogue == CudnnEpilogue::bias_relu) {
      const int biased = graph.virtual_tensor(CUDNN_DATA_FLOAT, y_shape, y_strides);
      graph.pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, biased, last, bias);
      graph.pointwise(CUDNN_POINTWISE_RELU_FWD, CUDNN_DATA_FLOAT, y, biased);
    } else {
      graph.pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, y, last, bias);
    }
  }
  return graph.build(
      {.exact_float32 = shape.precision == CudnnPrecision::f32, .ready_made = shape.ready_made, .rank = shape.rank});
}

class Plan final : public CudnnConvolutionPlan {
 public:
  Plan(CudnnPlan plan, CudnnEpilogue epilogue) : plan_(std::move(plan)), epilogue_(epilogue) {}
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return plan_.workspace_bytes(); }
  [[nodiscard]] const std::string& engine() const noexcept override { return plan_.engine(); }
  [[nodiscard]] const CudnnPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] CudnnEpilogue epilogue() const noexcept { return epilogue_; }

 private:
  CudnnPlan plan_;
  CudnnEpilogue epilogue_;
};

/// A plan, or why there is none.
struct Entry {
  std::unique_ptr<Plan> plan;
  std::string reason;
};

}  // namespace

struct CudnnConvolution::Impl {
  template <typename... Arguments>
  explicit Impl(Arguments&&... arguments) : device(std::forward<Arguments>(arguments)...) {}

  CudnnDevice device;
  std::map<CudnnConvolutionShape, Entry> entries;
};

CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library)
    : impl_(std::make_unique<Impl>(std::move(library))) {}

CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library, std::string_view description)
    : impl_(std::make_unique<Impl>(std::move(library), description)) {}

CudnnConvolution::~CudnnConvolution() = default;

const CudnnConvolutionPlan* CudnnConvolution::prepare(const CudnnConvolutionShape& shape) {
  if (const auto known = impl_->entries.find(shape); known != impl_->entries.end()) return known->second.plan.get();
  check(shape.output == DType::f32 || shape.output == input_type(shape.precision), "convolution to ",
        name_of(shape.output), " from ", name_of(input_type(shape.precision)));
  Entry entry;
  try {
    entry.plan = std::make_unique<Plan>(build_plan(impl_->device, shape), shape.epilogue);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    entry.reason = error.what();
  }
  return impl_->entries.emplace(shape, std::move(entry)).first->second.plan.get();
}

const std::string& CudnnConvolution::why_not(const CudnnConvolutionShape& shape) const {
  const auto known = impl_->entries.find(shape);
  check(known != impl_->entries.end(), "a convolution was asked about before it was prepared");
  return known->second.reason;
}

void CudnnConvolution::run(const CudnnConvolutionPlan& plan, const void* x, const void* weights, const float* bias,
                           void* y, void* workspace, cudaStream_t stream) {
  const Plan& own = static_cast<const Plan&>(plan);
  std::array<void*, 5> pointers{};
  pointers[kX] = const_cast<void*>(x);
  pointers[kWeights] = const_cast<void*>(weights);
  pointers[kY] = y;
  if (own.epilogue() != CudnnEpilogue::none) pointers[kBias] = const_cast<float*>(bias);
  if (own.epilogue() == CudnnEpilogue::bias_add) pointers[kAddend] = y;
  own.plan().execute(impl_->device, pointers, workspace, stream);
}

}  // namespace lingbot_map::cuda
