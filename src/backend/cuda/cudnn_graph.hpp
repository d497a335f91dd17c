#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/cudnn_functions.hpp"
#include "backend/cuda/cudnn_library.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map::cuda {

/// One object of cuDNN's graph interface: created, given attributes, finalised, destroyed. Setters throw
/// Error(unsupported) with cuDNN's own words.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnFunctions& functions, cudnnBackendDescriptorType_t type);

  [[nodiscard]] cudnnBackendDescriptor_t get() const noexcept { return descriptor_.get(); }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, std::span(&value, 1)); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(cudnnBackendAttributeName_t name, double value) { set(name, CUDNN_TYPE_DOUBLE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void finalize();
  /// finalize() that gives cuDNN's words instead of throwing; empty: done.
  [[nodiscard]] std::string try_finalize();

 private:
  struct Destroy {
    const CudnnFunctions* functions;
    void operator()(void* descriptor) const noexcept { functions->destroy_descriptor(descriptor); }
  };

  const CudnnFunctions* functions_;
  std::unique_ptr<void, Destroy> descriptor_;
};

/// The GPU that plans are made for: the current one of the calling thread, or one that is only described, for which
/// plans can be built but not run.
class CudnnDevice {
 public:
  explicit CudnnDevice(std::shared_ptr<const CudnnLibrary> library);
  /// description: JSON as CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION gives it.
  CudnnDevice(std::shared_ptr<const CudnnLibrary> library, std::string_view description);

  [[nodiscard]] const CudnnFunctions& functions() const noexcept { return *functions_; }
  /// Null when the GPU is only described.
  [[nodiscard]] cudnnHandle_t handle() const noexcept { return handle_.get(); }
  /// Null when the GPU is there.
  [[nodiscard]] const CudnnDescriptor* description() const noexcept { return description_.get(); }

 private:
  struct Destroy {
    const CudnnFunctions* functions;
    void operator()(cudnnHandle_t handle) const noexcept { functions->destroy(handle); }
  };

  std::shared_ptr<const CudnnLibrary> library_;
  const CudnnFunctions* functions_;
  std::unique_ptr<cudnnContext, Destroy> handle_;
  std::unique_ptr<CudnnDescriptor> description_;
};

/// A compiled graph.
class CudnnPlan {
 public:
  CudnnPlan(CudnnDescriptor configuration, CudnnDescriptor plan, std::string engine, std::size_t workspace_bytes)
      : configuration_(std::move(configuration)),
        plan_(std::move(plan)),
        engine_(std::move(engine)),
        workspace_bytes_(workspace_bytes) {}

  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// Which of cuDNN's engines it is and what it says of its arithmetic: "engine 3, tensor cores".
  [[nodiscard]] const std::string& engine() const noexcept { return engine_; }
  /// pointers[i] belongs to the tensor of identifier i: device memory, or host memory for a scalar.
  void execute(const CudnnDevice& device, std::span<void* const> pointers, void* workspace, cudaStream_t stream) const;

 private:
  CudnnDescriptor configuration_;
  CudnnDescriptor plan_;
  std::string engine_;
  std::size_t workspace_bytes_;
};

/// Which engines a plan may take. Engines that do not repeat their bits, reduce in less than float32 or leave direct
/// convolution (Winograd, FFT) are never taken.
struct CudnnSelection {
  /// No tensor cores: float32 products and sums. Else float32 inputs may be rounded to TF32.
  bool exact_float32 = false;
  /// No engine that compiles its kernel at run time, which takes a third of a second to seconds.
  bool ready_made = false;
  /// How many engines that would do are passed over.
  int rank = 0;
};

/// A graph of operations under construction. Tensors are named by the identifiers that the first group returns:
/// 0, 1, 2, ... in the order of creation. Virtual tensors live between operations, never in memory.
class CudnnGraph {
 public:
  explicit CudnnGraph(const CudnnDevice& device) : device_(device), functions_(device.functions()) {}

  int tensor(cudnnDataType_t type, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
  int virtual_tensor(cudnnDataType_t type, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
  /// One float32 that execute() reads from host memory.
  int scalar();

  void convolution(int x, int weights, int y, int stride, int padding);
  /// y = mode(x) or mode(x, b), or choice ? x : b.
  void pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, int y, int x, int b = -1, int choice = -1);
  /// y = position of each element of x along an axis, int32.
  void positions(int x, int axis, int y);
  void reduction(cudnnReduceTensorOp_t operation, int x, int y);
  /// c = a b; rows, columns, inner: identifiers of int32 tensors [batch, 1, 1, 1] with lengths below the shapes'; -1:
  /// as the shapes say.
  void matmul(int a, int b, int c, int rows = -1, int columns = -1, int inner = -1);
  /// The whole of scaled dot product attention as one operation.
  void attention(int q, int k, int v, int out, int scale, int query_lengths = -1, int key_lengths = -1);

  /// The first engine of the heuristics (mode A, then the fallback list) that the selection allows and that compiles:
  /// the same choice on every run. Throws Error(unsupported) that says why there is none.
  [[nodiscard]] CudnnPlan build(const CudnnSelection& selection);

 private:
  int add_tensor(cudnnDataType_t type, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                 bool is_virtual, bool by_value);
  [[nodiscard]] const CudnnDescriptor& tensor_at(int identifier) const;
  CudnnDescriptor& add_operation(cudnnBackendDescriptorType_t type);

  const CudnnDevice& device_;
  const CudnnFunctions& functions_;
  std::vector<CudnnDescriptor> tensors_;
  std::vector<CudnnDescriptor> details_;
  std::vector<CudnnDescriptor> operations_;
};

[[nodiscard]] cudnnDataType_t cudnn_type(DType dtype);

}  // namespace lingbot_map::cuda
