#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/kernels.hpp"
#include "base/thread_pool.hpp"
#include "tensor/buffer.hpp"

namespace lingbot_map::cpu {

/// A weight matrix [out, in] laid out for the kernels: panels of `panel_width` outputs, each [in in
/// units][panel_width]. `in` is padded with zeros to whole units, `out` to whole panels.
struct PackedMatrix {
  Buffer buffer;
  DType dtype = DType::f32;  ///< f32 or bf16
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t units = 0;  ///< 32-bit units along `in`
  std::int64_t panels = 0;
};

/// Packs weights [out, in], row-major float32; bf16 rounds to nearest even.
[[nodiscard]] PackedMatrix pack_matrix(const Kernels& kernels, std::span<const float> weights, std::int64_t out,
                                       std::int64_t in, DType dtype);

/// Where a product's left operand comes from: rows of a matrix, or windows of an image that are never laid out whole.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Writes elements [first, first + count) of rows [row, row + rows) to `out`, row by row, `stride` floats or bf16
  /// apart, as the product's type. Elements past the end of a row are zero.
  virtual void pack(std::int64_t row, int rows, std::int64_t first, int count, float* out,
                    std::ptrdiff_t stride) const = 0;
  virtual void pack(std::int64_t row, int rows, std::int64_t first, int count, bf16* out,
                    std::ptrdiff_t stride) const = 0;
};

/// Where a product's result goes: y[row][0 .. out) at `data + row * stride`, f32 or bf16.
struct ProductTarget {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t stride = 0;
  const float* bias = nullptr;  ///< [out], null: none
  Epilogue epilogue = Epilogue::store;
};

/// y = epilogue(rows * weights^T). The order of every sum depends on the shapes alone, not on the number of threads.
void multiply(const Kernels& kernels, ThreadPool& threads, const RowSource& source, std::int64_t rows,
              const PackedMatrix& weights, const ProductTarget& target);

/// Rows of a matrix view, f32 or bf16.
class MatrixRows final : public RowSource {
 public:
  MatrixRows(const Kernels& kernels, const Tensor& x);
  void pack(std::int64_t row, int rows, std::int64_t first, int count, float* out,
            std::ptrdiff_t stride) const override;
  void pack(std::int64_t row, int rows, std::int64_t first, int count, bf16* out, std::ptrdiff_t stride) const override;

 private:
  const Kernels& kernels_;
  Tensor x_;
};

}  // namespace lingbot_map::cpu
