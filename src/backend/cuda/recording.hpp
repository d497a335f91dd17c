#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "backend/backend.hpp"

namespace lingbot_map::cuda {

/// A CUDA graph.
class CudaRecording final : public Recording {
 public:
  /// Records what `work` launches on `stream` and on streams that it joins to it. What it throws passes through.
  [[nodiscard]] static std::unique_ptr<CudaRecording> of(cudaStream_t stream, const std::function<void()>& work);
  ~CudaRecording() override;
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;

  void launch(cudaStream_t stream) const;

 private:
  explicit CudaRecording(cudaGraphExec_t graph) : graph_(graph) {}
  cudaGraphExec_t graph_;
};

}  // namespace lingbot_map::cuda
