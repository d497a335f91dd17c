#include <algorithm>

#include "backend/cuda/check.hpp"
#include "backend/cuda/convolutions.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/kernels.hpp"

namespace lingbot_map {

using namespace cuda;

namespace {

ImageView image_of(const Tensor& x) {
  check(x.rank() == 3 && x.dtype() == DType::f32, "an image of shape ", x.shape_text(), " and type ",
        name_of(x.dtype()));
  return {x.data<float>(), x.dim(0), x.dim(1), x.dim(2), x.row_stride()};
}

/// Rows of any shape, for operations that look at each element alone.
ImageView rows_of(const Tensor& x) {
  check(x.dtype() == DType::f32, "rows of ", name_of(x.dtype()));
  return {x.data<float>(), x.dim(0), 1, x.row_elements(), x.row_stride()};
}

bool is_map(const Tensor& y, const Tensor& x) {
  return y.rank() == 2 && y.dim(0) == x.dim(0) && y.dim(1) == x.dim(1) && y.dtype() == DType::f32;
}

}  // namespace

void CudaBackend::convolve(const Tensor& x, const Convolution& convolution, Activation activation, const Tensor& y) {
  const auto guard = lock();
  const auto* weights = dynamic_cast<const CudaMatrix*>(convolution.product.weight.get());
  check(weights != nullptr, "weights of another back end");
  const auto fits = [&](std::int64_t in, std::int64_t out) {
    const std::int64_t room = in + 2 * convolution.padding - convolution.kernel;
    return room >= 0 && convolution.stride > 0 && out == room / convolution.stride + 1;
  };
  check(x.rank() == 3 && y.rank() == 3 && weights->in() == x.dim(2) * convolution.kernel * convolution.kernel &&
            fits(x.dim(0), y.dim(0)) && fits(x.dim(1), y.dim(1)) && y.dim(2) == weights->out() && y.contiguous() &&
            x.dtype() == DType::f32 && y.dtype() == DType::f32,
        "convolve of ", x.shape_text(), " by [", weights->out(), ", ", weights->in(), "] into ", y.shape_text(), " of ",
        name_of(x.dtype()), " and ", name_of(y.dtype()));
  if (const CudnnConvolutionPlan* plan = convolutions_->plan(x, convolution, activation, y)) {
    void* const workspace = plan->workspace_bytes() > 0 ? scratch(plan->workspace_bytes()) : nullptr;
    convolutions_->run(*plan, x, convolution, y, workspace, current_);
    return;
  }
  convolve_as_product(x, convolution, activation, y);
}

/// The windows become rows in memory, some at a time.
void CudaBackend::convolve_as_product(const Tensor& x, const Convolution& convolution, Activation activation,
                                      const Tensor& y) {
  constexpr std::int64_t kMostElements = std::int64_t{16} << 20;
  const CudaMatrix& weights = *dynamic_cast<const CudaMatrix*>(convolution.product.weight.get());
  check(weights.dtype() == DType::f32, "a convolution of ", name_of(weights.dtype()));
  const std::int64_t pixels = y.dim(0) * y.dim(1);
  const std::int64_t at_once = std::clamp<std::int64_t>(kMostElements / weights.in(), 1, pixels);
  const Tensor out = y.reshape({pixels, y.dim(2)});
  auto* const rows = static_cast<float*>(scratch(static_cast<std::size_t>(at_once * weights.in()) * sizeof(float)));
  for (std::int64_t first = 0; first < pixels; first += at_once) {
    const std::int64_t count = std::min(at_once, pixels - first);
    window_rows(image_of(x), convolution.kernel, convolution.stride, convolution.padding, y.dim(1), first, count, rows,
                current_);
    // gelu would need scratch memory of its own; no convolution has it
    check(activation != Activation::gelu, "a convolution with gelu");
    multiply(Tensor(rows, DType::f32, {count, weights.in()}, device()), convolution.product, activation,
             out.rows(first, count));
  }
}

void CudaBackend::relu(const Tensor& x) {
  const auto guard = lock();
  cuda::relu(rows_of(x), current_);
}

void CudaBackend::add(const Tensor& x, const Tensor& y) {
  const auto guard = lock();
  check(x.dim(0) == y.dim(0) && x.row_elements() == y.row_elements(), "add of ", x.shape_text(), " to ",
        y.shape_text());
  cuda::add(rows_of(x), rows_of(y), current_);
}

void CudaBackend::add_positions(const Tensor& columns, const Tensor& rows, const Tensor& x) {
  const auto guard = lock();
  const std::int64_t half = x.dim(2) / 2;
  check(columns.dim(0) == x.dim(1) && rows.dim(0) == x.dim(0) && columns.dim(1) == half && rows.dim(1) == half &&
            columns.contiguous() && rows.contiguous(),
        "add_positions of ", columns.shape_text(), " and ", rows.shape_text(), " to ", x.shape_text());
  cuda::add_positions(columns.data<float>(), rows.data<float>(), image_of(x), current_);
}

void CudaBackend::resize(const Tensor& x, const Tensor& y) {
  const auto guard = lock();
  check(x.rank() == 3 && y.rank() == 3 && y.dim(2) == x.dim(2), "resize of ", x.shape_text(), " to ", y.shape_text());
  cuda::resize(image_of(x), image_of(y), current_);
}

void CudaBackend::depth_to_space(const Tensor& x, std::int64_t height, std::int64_t width, int factor,
                                 const Tensor& y) {
  const auto guard = lock();
  check(x.rank() == 2 && y.rank() == 3 && x.dim(0) == height * width && x.dim(1) == y.dim(2) * factor * factor &&
            y.dim(0) == height * factor && y.dim(1) == width * factor,
        "depth_to_space of ", x.shape_text(), " into ", y.shape_text());
  cuda::depth_to_space(x.data<float>(), x.row_stride(), factor, image_of(y), current_);
}

void CudaBackend::depth_outputs(const Tensor& x, const Tensor& depth, const Tensor& confidence) {
  const auto guard = lock();
  check(x.rank() == 3 && x.dim(2) == 2 && is_map(depth, x) && is_map(confidence, x), "depth_outputs of ",
        x.shape_text(), " into ", depth.shape_text(), " and ", confidence.shape_text());
  cuda::depth_outputs(image_of(x), depth.data<float>(), depth.row_stride(), confidence.data<float>(),
                      confidence.row_stride(), current_);
}

void CudaBackend::point_outputs(const Tensor& x, const Tensor& points, const Tensor& confidence) {
  const auto guard = lock();
  check(x.rank() == 3 && x.dim(2) == 4 && points.rank() == 3 && points.dim(0) == x.dim(0) &&
            points.dim(1) == x.dim(1) && points.dim(2) == 3 && is_map(confidence, x),
        "point_outputs of ", x.shape_text(), " into ", points.shape_text(), " and ", confidence.shape_text());
  cuda::point_outputs(image_of(x), points.data<float>(), points.row_stride(), confidence.data<float>(),
                      confidence.row_stride(), current_);
}

}  // namespace lingbot_map
