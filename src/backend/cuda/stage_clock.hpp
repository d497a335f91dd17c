#pragma once

#include <vector>

#include "backend/cuda/cuda_backend.hpp"

namespace lingbot_map::cuda {

/// Events around each part; their times are read when all is done.
class CudaClock final : public StageClock {
 public:
  explicit CudaClock(CudaBackend& backend) : backend_(backend) {}
  ~CudaClock() override;
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  void start() override;
  void stop(double& total) override;
  void settle() override;

 private:
  struct Part {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    double* total = nullptr;
  };
  CudaBackend& backend_;
  std::vector<Part> parts_;  ///< events are kept for the next use
  std::size_t used_ = 0;
};

}  // namespace lingbot_map::cuda
