#include "tensor/tensor.hpp"

namespace lingbot_map {

Tensor::Tensor(void* data, DType dtype, std::initializer_list<std::int64_t> shape, Device device)
    : data_(data), rank_(static_cast<int>(shape.size())), dtype_(dtype), device_(device) {
  check(rank_ >= 1 && rank_ <= kMaxRank, "tensor of rank ", rank_);
  std::size_t axis = 0;
  for (const std::int64_t extent : shape) shape_[axis++] = extent;
  row_stride_ = row_elements();
}

std::int64_t Tensor::elements() const noexcept { return rank_ == 0 ? 0 : shape_[0] * row_elements(); }

std::int64_t Tensor::row_elements() const noexcept {
  std::int64_t product = 1;
  for (int axis = 1; axis < rank_; ++axis) product *= shape_[static_cast<std::size_t>(axis)];
  return product;
}

std::string Tensor::shape_text() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) text += (axis > 0 ? ", " : "") + std::to_string(dim(axis));
  return text + "]";
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t count) const {
  check(begin >= 0 && count >= 0 && begin + count <= dim(0), "rows ", begin, "+", count, " of ", shape_text());
  Tensor view = *this;
  view.data_ = static_cast<std::byte*>(data_) + static_cast<std::size_t>(begin * row_stride_) * size_of(dtype_);
  view.shape_[0] = count;
  return view;
}

Tensor Tensor::columns(std::int64_t begin, std::int64_t count) const {
  check(rank_ == 2 && begin >= 0 && count >= 0 && begin + count <= dim(1), "columns ", begin, "+", count, " of ",
        shape_text());
  Tensor view = *this;
  view.data_ = static_cast<std::byte*>(data_) + static_cast<std::size_t>(begin) * size_of(dtype_);
  view.shape_[1] = count;
  return view;
}

Tensor Tensor::row_of_each(std::int64_t index) const {
  check(rank_ == 3 && index >= 0 && index < dim(1), "row ", index, " of each block of ", shape_text());
  Tensor view(static_cast<std::byte*>(data_) + static_cast<std::size_t>(index * dim(2)) * size_of(dtype_), dtype_,
              {dim(0), dim(2)}, device_);
  view.row_stride_ = row_stride_;
  return view;
}

Tensor Tensor::reshape(std::initializer_list<std::int64_t> shape) const {
  check(contiguous(), "reshape of a strided view ", shape_text());
  Tensor view(data_, dtype_, shape, device_);
  check(view.elements() == elements(), "reshape of ", shape_text(), " to ", view.shape_text());
  return view;
}

}  // namespace lingbot_map
