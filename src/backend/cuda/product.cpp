#include "backend/cuda/product.hpp"

#include <algorithm>
#include <memory>

namespace lingbot_map::cuda {
namespace {

void check_cublas(cublasStatus_t status, const char* what) {
  check(status == CUBLAS_STATUS_SUCCESS, "cuBLASLt, ", what, ": ", cublasLtGetStatusString(status));
}

cudaDataType_t type_of(DType dtype) {
  return dtype == DType::bf16 ? CUDA_R_16BF : dtype == DType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

template <typename Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check_cublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)), "describing a product");
}

/// The largest power of two up to 256 that divides an address; 256 for none.
std::uint32_t alignment_of(const void* pointer) {
  if (pointer == nullptr) return 256;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (~address + 1), 256));
}

}  // namespace

ProductLibrary::ProductLibrary(Buffer workspace) : workspace_(std::move(workspace)) {
  check_cublas(cublasLtCreate(&handle_), "start");
}

ProductLibrary::~ProductLibrary() {
  for (const auto& [key, plan] : plans_) {
    (void)cublasLtMatrixLayoutDestroy(plan.y);
    (void)cublasLtMatrixLayoutDestroy(plan.x);
    (void)cublasLtMatrixLayoutDestroy(plan.weights);
    (void)cublasLtMatmulDescDestroy(plan.operation);
  }
  (void)cublasLtDestroy(handle_);
}

/// In cuBLAS's terms matrices are column-major: y^T [out, rows] = W [out, in] x^T [in, rows], all as they lie.
ProductLibrary::Plan ProductLibrary::make_plan(const Product& product, std::uint32_t alignment) const {
  Plan plan;
  const Precision precision = product.weights->precision();
  const auto compute = precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check_cublas(cublasLtMatmulDescCreate(&plan.operation, compute, CUDA_R_32F), "describing a product");
  set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  const bool bias = product.bias != nullptr;
  set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
  if (bias) {
    set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  }
  const cudaDataType_t type = type_of(product.weights->dtype());
  const auto out = static_cast<std::uint64_t>(product.weights->out());
  const auto in = static_cast<std::uint64_t>(product.in);
  const auto rows = static_cast<std::uint64_t>(product.rows);
  check_cublas(cublasLtMatrixLayoutCreate(&plan.weights, type, in, out, product.weights->stride()), "weights");
  check_cublas(cublasLtMatrixLayoutCreate(&plan.x, type, in, rows, product.x_stride), "rows");
  check_cublas(cublasLtMatrixLayoutCreate(&plan.y, type_of(product.y_type), out, rows, product.y_stride), "result");

  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "preference");
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, decltype(&cublasLtMatmulPreferenceDestroy)>
      owner(preference, cublasLtMatmulPreferenceDestroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)), "preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_.bytes());
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(attribute, alignment);
  }
  cublasLtMatmulHeuristicResult_t choice{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, plan.operation, plan.weights, plan.x, plan.y,
                                                               plan.y, preference, 1, &choice, &found);
  check(status == CUBLAS_STATUS_SUCCESS && found == 1, "cuBLASLt has no algorithm for [", product.rows, ", ",
        product.in, "] by [", product.weights->out(), ", ", product.in, "] of ", name_of(product.weights->dtype()),
        " into ", name_of(product.y_type), ": ", cublasLtGetStatusString(status));
  plan.algorithm = choice.algo;
  return plan;
}

void ProductLibrary::run(const Product& product, cudaStream_t stream) {
  if (product.rows == 0) return;
  const std::uint32_t alignment = std::min({alignment_of(product.x), alignment_of(product.y),
                                            alignment_of(product.weights->data()), alignment_of(product.bias)});
  const Key key{product.rows,
                product.weights->out(),
                product.in,
                product.x_stride,
                product.weights->stride(),
                product.y_stride,
                static_cast<int>(product.weights->precision()),
                static_cast<int>(product.y_type),
                (product.bias != nullptr ? 1 : 0) + (product.add ? 2 : 0),
                static_cast<int>(alignment)};
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.emplace(key, make_plan(product, alignment)).first;
  const Plan& plan = found->second;
  if (product.bias != nullptr) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  const float one = 1;
  const float beta = product.add ? 1 : 0;
  check_cublas(cublasLtMatmul(handle_, plan.operation, &one, product.weights->data(), plan.weights, product.x, plan.x,
                              &beta, product.y, plan.y, product.y, plan.y, &plan.algorithm, workspace_.data(),
                              workspace_.bytes(), stream),
               "a product");
}

}  // namespace lingbot_map::cuda
