#include "backend/cuda/cudnn_graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

constexpr std::int64_t kAlignment = 16;

std::string error_text(const CudnnFunctions& functions, cudnnStatus_t status) {
  std::array<char, 1024> detail{};
  functions.last_error_string(detail.data(), detail.size());
  std::string text = message(functions.error_string(status), " (", detail.data(), ')');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void require(const CudnnFunctions& functions, cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) {
    fail(ErrorCode::unsupported, "cuDNN: ", what, ": ", error_text(functions, status));
  }
}

/// The engine configurations of one heuristic, best first.
std::vector<CudnnDescriptor> engine_configurations(const CudnnDevice& device, const CudnnDescriptor& graph,
                                                   cudnnBackendHeurMode_t mode) {
  const CudnnFunctions& functions = device.functions();
  CudnnDescriptor heuristics(functions, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device.description() != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device.description());
  std::vector<CudnnDescriptor> configurations;
  if (!heuristics.try_finalize().empty()) return configurations;
  std::int64_t count = 0;
  if (functions.get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                              nullptr) != CUDNN_STATUS_SUCCESS) {
    return configurations;
  }
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations.emplace_back(functions, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configurations.back().get());
  }
  if (functions.get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                              &count, raw.data()) != CUDNN_STATUS_SUCCESS) {
    count = 0;
  }
  configurations.erase(configurations.begin() + count, configurations.end());
  return configurations;
}

/// What an engine says of itself.
struct Engine {
  std::int64_t index = -1;
  std::vector<cudnnBackendNumericalNote_t> numerical;
  std::vector<cudnnBackendBehaviorNote_t> behavior;

  [[nodiscard]] bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(numerical.begin(), numerical.end(), note) != numerical.end();
  }
  [[nodiscard]] bool compiles() const {
    return std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != behavior.end();
  }
  [[nodiscard]] bool allowed_by(const CudnnSelection& selection) const {
    if (has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) || has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) ||
        has(CUDNN_NUMERICAL_NOTE_FFT) || has(CUDNN_NUMERICAL_NOTE_WINOGRAD)) {
      return false;
    }
    if (selection.exact_float32 &&
        (has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) || has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))) {
      return false;
    }
    return !(selection.ready_made && compiles());
  }
  [[nodiscard]] std::string text() const {
    return message("engine ", index, has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? ", tensor cores" : "",
                   has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ? ", inputs rounded" : "",
                   compiles() ? ", compiled at run time" : "");
  }
};

template <typename Note>
std::vector<Note> notes_of(const CudnnFunctions& functions, cudnnBackendDescriptor_t engine,
                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Note end) {
  std::vector<Note> notes(static_cast<std::size_t>(end));
  std::int64_t count = 0;
  require(functions, functions.get_attribute(engine, name, type, std::int64_t{end}, &count, notes.data()),
          "asking an engine about itself");
  notes.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, end)));
  return notes;
}

Engine engine_of(const CudnnFunctions& functions, const CudnnDescriptor& configuration) {
  CudnnDescriptor descriptor(functions, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = descriptor.get();
  std::int64_t count = 0;
  require(functions,
          functions.get_attribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                  &count, &raw),
          "asking a configuration for its engine");
  Engine engine;
  require(functions,
          functions.get_attribute(raw, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &engine.index),
          "asking an engine for its number");
  engine.numerical = notes_of(functions, raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                              CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  engine.behavior = notes_of(functions, raw, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                             CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  return engine;
}

}  // namespace

// ---- CudnnDescriptor
// -------------------------------------------------------------------------------------------------

CudnnDescriptor::CudnnDescriptor(const CudnnFunctions& functions, cudnnBackendDescriptorType_t type)
    : functions_(&functions), descriptor_(nullptr, Destroy{&functions}) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  require(functions, functions.create_descriptor(type, &descriptor), "creating a descriptor");
  descriptor_.reset(descriptor);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  const cudnnStatus_t status = functions_->set_attribute(get(), name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) {
    fail(ErrorCode::unsupported, "cuDNN: setting attribute ", static_cast<int>(name), ": ",
         error_text(*functions_, status));
  }
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void CudnnDescriptor::finalize() {
  const std::string error = try_finalize();
  if (!error.empty()) fail(ErrorCode::unsupported, "cuDNN: ", error);
}

std::string CudnnDescriptor::try_finalize() {
  const cudnnStatus_t status = functions_->finalize(get());
  return status == CUDNN_STATUS_SUCCESS ? std::string() : error_text(*functions_, status);
}

// ---- CudnnDevice
// -----------------------------------------------------------------------------------------------------

CudnnDevice::CudnnDevice(std::shared_ptr<const CudnnLibrary> library)
    : library_(std::move(library)), functions_(&library_->functions()), handle_(nullptr, Destroy{functions_}) {
  cudnnHandle_t handle = nullptr;
  require(*functions_, functions_->create(&handle), "starting on this GPU");
  handle_.reset(handle);
}

CudnnDevice::CudnnDevice(std::shared_ptr<const CudnnLibrary> library, std::string_view description)
    : library_(std::move(library)),
      functions_(&library_->functions()),
      handle_(nullptr, Destroy{functions_}),
      description_(std::make_unique<CudnnDescriptor>(*functions_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)) {
  description_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                    static_cast<std::int64_t>(description.size()), description.data());
  description_->finalize();
}

// ---- CudnnPlan
// -------------------------------------------------------------------------------------------------------

void CudnnPlan::execute(const CudnnDevice& device, std::span<void* const> pointers, void* workspace,
                        cudaStream_t stream) const {
  const CudnnFunctions& functions = device.functions();
  check(device.handle() != nullptr, "a plan for a GPU that is only described was run");
  std::vector<std::int64_t> identifiers;
  std::vector<void*> memory;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (pointers[i] == nullptr) continue;
    identifiers.push_back(static_cast<std::int64_t>(i) + 1);
    memory.push_back(pointers[i]);
  }
  CudnnDescriptor pack(functions, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, identifiers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(memory.size()),
           memory.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  require(functions, functions.set_stream(device.handle(), stream), "choosing a stream");
  const cudnnStatus_t status = functions.execute(device.handle(), plan_.get(), pack.get());
  if (status != CUDNN_STATUS_SUCCESS) {
    fail(ErrorCode::internal, "cuDNN: running ", engine_, ": ", error_text(functions, status));
  }
}

// ---- CudnnGraph
// ------------------------------------------------------------------------------------------------------

int CudnnGraph::add_tensor(cudnnDataType_t type, std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> strides, bool is_virtual, bool by_value) {
  CudnnDescriptor& tensor = tensors_.emplace_back(functions_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int identifier = static_cast<int>(tensors_.size()) - 1;
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  // Zero is not allowed as an identifier of cuDNN's.
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, std::int64_t{identifier} + 1);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  tensor.finalize();
  return identifier;
}

int CudnnGraph::tensor(cudnnDataType_t type, std::span<const std::int64_t> shape,
                       std::span<const std::int64_t> strides) {
  return add_tensor(type, shape, strides, false, false);
}

int CudnnGraph::virtual_tensor(cudnnDataType_t type, std::span<const std::int64_t> shape,
                               std::span<const std::int64_t> strides) {
  return add_tensor(type, shape, strides, true, false);
}

int CudnnGraph::scalar() {
  constexpr std::array<std::int64_t, 4> kOnes = {1, 1, 1, 1};
  return add_tensor(CUDNN_DATA_FLOAT, kOnes, kOnes, false, true);
}

const CudnnDescriptor& CudnnGraph::tensor_at(int identifier) const {
  return tensors_.at(static_cast<std::size_t>(identifier));
}

CudnnDescriptor& CudnnGraph::add_operation(cudnnBackendDescriptorType_t type) {
  return operations_.emplace_back(functions_, type);
}

void CudnnGraph::convolution(int x, int weights, int y, int stride, int padding) {
  const std::array<std::int64_t, 2> ones = {1, 1};
  const std::array<std::int64_t, 2> strides = {stride, stride};
  const std::array<std::int64_t, 2> paddings = {padding, padding};
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  CudnnDescriptor& detail = details_.emplace_back(functions_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  detail.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  detail.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  detail.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  detail.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
  detail.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  detail.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, paddings);
  detail.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, paddings);
  detail.finalize();

  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, detail);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor_at(x));
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor_at(weights));
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor_at(y));
  operation.finalize();
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, int y, int x, int b, int choice) {
  CudnnDescriptor& detail = details_.emplace_back(functions_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  detail.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  detail.set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
  detail.finalize();

  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, detail);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor_at(x));
  if (b >= 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor_at(b));
  if (choice >= 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor_at(choice));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor_at(y));
  operation.finalize();
}

void CudnnGraph::positions(int x, int axis, int y) {
  const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_GEN_INDEX;
  CudnnDescriptor& detail = details_.emplace_back(functions_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  detail.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  detail.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_INT32);
  detail.set(CUDNN_ATTR_POINTWISE_AXIS, std::int64_t{axis});
  detail.finalize();

  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, detail);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor_at(x));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor_at(y));
  operation.finalize();
}

void CudnnGraph::reduction(cudnnReduceTensorOp_t mode, int x, int y) {
  CudnnDescriptor& detail = details_.emplace_back(functions_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  detail.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
  detail.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  detail.finalize();

  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, detail);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor_at(x));
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor_at(y));
  operation.finalize();
}

void CudnnGraph::matmul(int a, int b, int c, int rows, int columns, int inner) {
  CudnnDescriptor& detail = details_.emplace_back(functions_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  detail.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  if (columns >= 0) detail.set(CUDNN_ATTR_MATMUL_PADDING_VALUE, 0.0);
  detail.finalize();

  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, detail);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor_at(a));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor_at(b));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor_at(c));
  if (rows >= 0) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, tensor_at(rows));
  if (columns >= 0) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, tensor_at(columns));
  if (inner >= 0) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, tensor_at(inner));
  operation.finalize();
}

void CudnnGraph::attention(int q, int k, int v, int out, int scale, int query_lengths, int key_lengths) {
  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor_at(q));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor_at(k));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor_at(v));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor_at(out));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, tensor_at(scale));
  if (query_lengths >= 0) operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, tensor_at(query_lengths));
  if (key_lengths >= 0) operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, tensor_at(key_lengths));
  operation.finalize();
}

CudnnPlan CudnnGraph::build(const CudnnSelection& selection) {
  CudnnDescriptor graph(functions_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  if (cudnnHandle_t handle = device_.handle()) {
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()),
            operations.data());
  graph.finalize();

  int passed_over = 0;
  std::string reason = "no engine knows this graph";
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& configuration : engine_configurations(device_, graph, mode)) {
      const Engine engine = engine_of(functions_, configuration);
      if (!engine.allowed_by(selection)) {
        reason = "no engine that repeats its bits is as exact as asked for and, if that was asked for, ready made";
        continue;
      }
      CudnnDescriptor plan(functions_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      if (cudnnHandle_t handle = device_.handle()) {
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
      }
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (std::string error = plan.try_finalize(); !error.empty()) {
        reason = message(engine.text(), ": ", error);
        continue;
      }
      if (passed_over++ < selection.rank) {
        reason = message("only ", passed_over, " engines would do");
        continue;
      }
      std::int64_t bytes = 0;
      std::int64_t count = 0;
      require(functions_,
              functions_.get_attribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                       &count, &bytes),
              "asking a plan for its workspace");
      return CudnnPlan(std::move(configuration), std::move(plan), engine.text(), static_cast<std::size_t>(bytes));
    }
  }
  fail(ErrorCode::unsupported, "cuDNN: ", reason);
}

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return CUDNN_DATA_FLOAT;
    case DType::f16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    default: fail(ErrorCode::internal, "internal error: cuDNN was asked for ", name_of(dtype));
  }
}

}  // namespace lingbot_map::cuda
