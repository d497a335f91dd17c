#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "backend/backend.hpp"

namespace lingbot_map::cuda {

/// Weights [out, in] on a GPU, rows padded with zeros to a multiple of 16 bytes.
class CudaMatrix final : public Matrix {
 public:
  CudaMatrix(Buffer buffer, std::int64_t out, std::int64_t in, std::int64_t stride, Precision precision)
      : buffer_(std::move(buffer)), out_(out), in_(in), stride_(stride), precision_(precision) {}
  [[nodiscard]] std::int64_t in() const noexcept override { return in_; }
  [[nodiscard]] std::int64_t out() const noexcept override { return out_; }
  [[nodiscard]] DType dtype() const noexcept override { return storage_of(precision_); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return buffer_.bytes(); }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }
  /// Elements from one row to the next.
  [[nodiscard]] std::int64_t stride() const noexcept { return stride_; }
  [[nodiscard]] const void* data() const noexcept { return buffer_.data(); }

 private:
  Buffer buffer_;
  std::int64_t out_;
  std::int64_t in_;
  std::int64_t stride_;
  Precision precision_;
};

/// y [rows, out] = x [rows, in] W^T + bias (+ y): one call of cuBLASLt. All pointers are device memory; x has
/// the type of the weights, y is float32 or has it too.
struct Product {
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  const CudaMatrix* weights = nullptr;
  std::int64_t in = 0;          ///< of the padded row when x is padded too
  const float* bias = nullptr;  ///< needs a float32 y
  void* y = nullptr;
  std::int64_t y_stride = 0;
  DType y_type = DType::f32;
  std::int64_t rows = 0;
  bool add = false;  ///< keep what y holds and add to it
};

/// cuBLASLt with the algorithm of each shape chosen once, by its heuristics and never by timing, so that bits repeat
/// from run to run.
class ProductLibrary {
 public:
  /// `workspace` is for all calls, which must be on one stream.
  explicit ProductLibrary(Buffer workspace);
  ~ProductLibrary();
  ProductLibrary(const ProductLibrary&) = delete;
  ProductLibrary& operator=(const ProductLibrary&) = delete;

  void run(const Product& product, cudaStream_t stream);

 private:
  /// What the choice of an algorithm depends on.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int, int,
                         int, int>;
  struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t weights = nullptr;
    cublasLtMatrixLayout_t x = nullptr;
    cublasLtMatrixLayout_t y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };
  [[nodiscard]] Plan make_plan(const Product& product, std::uint32_t alignment) const;

  cublasLtHandle_t handle_ = nullptr;
  Buffer workspace_;
  std::map<Key, Plan> plans_;
};

}  // namespace lingbot_map::cuda
