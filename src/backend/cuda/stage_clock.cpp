#include "backend/cuda/stage_clock.hpp"

#include "backend/cuda/check.hpp"

namespace lingbot_map::cuda {

CudaClock::~CudaClock() {
  for (const Part& part : parts_) {
    (void)cudaEventDestroy(part.begin);
    (void)cudaEventDestroy(part.end);
  }
}

void CudaClock::start() {
  const auto guard = backend_.lock();
  if (used_ == parts_.size()) {
    Part part;
    check_cuda(cudaEventCreate(&part.begin), "making an event");
    check_cuda(cudaEventCreate(&part.end), "making an event");
    parts_.push_back(part);
  }
  check_cuda(cudaEventRecord(parts_[used_].begin, backend_.stream()), "timing a stage");
}

void CudaClock::stop(double& total) {
  const auto guard = backend_.lock();
  check_cuda(cudaEventRecord(parts_[used_].end, backend_.stream()), "timing a stage");
  parts_[used_].total = &total;
  ++used_;
}

void CudaClock::settle() {
  const auto guard = backend_.lock();
  for (std::size_t i = 0; i < used_; ++i) {
    check_cuda(cudaEventSynchronize(parts_[i].end), "timing a stage");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, parts_[i].begin, parts_[i].end), "timing a stage");
    *parts_[i].total += static_cast<double>(milliseconds) * 1e-3;
  }
  used_ = 0;
}

}  // namespace lingbot_map::cuda
