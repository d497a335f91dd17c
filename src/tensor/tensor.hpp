#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/message.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// A view of memory as a row-major array of up to four dimensions. It owns nothing: whoever made the memory keeps it
/// alive. All dimensions are contiguous except that rows of the first one may lie further apart (`row_stride`), which
/// is how a range of columns or one token of every frame is seen without a copy.
class Tensor {
 public:
  static constexpr int kMaxRank = 4;

  Tensor() = default;
  Tensor(void* data, DType dtype, std::initializer_list<std::int64_t> shape, Device device = Device::cpu());

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t dim(int axis) const noexcept { return shape_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::int64_t elements() const noexcept;
  /// Elements of one row: the product of all dimensions but the first.
  [[nodiscard]] std::int64_t row_elements() const noexcept;
  /// Elements from one row of the first dimension to the next.
  [[nodiscard]] std::int64_t row_stride() const noexcept { return row_stride_; }
  [[nodiscard]] bool contiguous() const noexcept { return dim(0) <= 1 || row_stride_ == row_elements(); }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] bool empty() const noexcept { return data_ == nullptr; }
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * size_of(dtype_); }
  [[nodiscard]] void* raw() const noexcept { return data_; }
  [[nodiscard]] std::string shape_text() const;

  /// The elements as T. The caller names the type it knows to be there; a size mismatch is a defect and throws.
  template <typename T>
  [[nodiscard]] T* data() const {
    check(sizeof(T) == size_of(dtype_), "tensor of ", name_of(dtype_), " read as another element size");
    return static_cast<T*>(data_);
  }

  /// Rows [begin, begin + count) of the first dimension.
  [[nodiscard]] Tensor rows(std::int64_t begin, std::int64_t count) const;
  /// Columns [begin, begin + count) of a matrix.
  [[nodiscard]] Tensor columns(std::int64_t begin, std::int64_t count) const;
  /// Row `index` of every block of a [blocks, rows, columns] view, as a matrix [blocks, columns].
  [[nodiscard]] Tensor row_of_each(std::int64_t index) const;
  /// The same memory in another shape of as many elements. Needs a contiguous view.
  [[nodiscard]] Tensor reshape(std::initializer_list<std::int64_t> shape) const;

 private:
  void* data_ = nullptr;
  std::array<std::int64_t, kMaxRank> shape_{};
  std::int64_t row_stride_ = 0;
  int rank_ = 0;
  DType dtype_ = DType::f32;
  Device device_;
};

}  // namespace lingbot_map
