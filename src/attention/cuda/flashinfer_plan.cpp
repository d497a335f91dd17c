#include "attention/cuda/flashinfer_plan.hpp"

#include <algorithm>
#include <bit>

namespace lingbot_map::cuda {

DeviceMemory allocate_device(std::size_t bytes, const char* what) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, bytes), what);
  return DeviceMemory(static_cast<std::byte*>(memory));
}

void PlanMemory::reserve(std::size_t bytes, cudaStream_t stream) {
  if (bytes <= bytes_) return;
  if (bytes_ > 0) check_cuda(cudaStreamSynchronize(stream), "waiting before the attention plan's memory grows");
  bytes_ = 0;
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 1 << 16));
  device_.reset();
  device_ = allocate_device(size, "memory for the attention plan");
  for (HostBuffer& buffer : host_) {
    buffer.memory.reset();
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, size), "page-locked memory for the attention plan");
    buffer.memory.reset(static_cast<std::byte*>(memory));
    if (buffer.copied == nullptr) {
      cudaEvent_t event = nullptr;
      check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event for the attention plan");
      buffer.copied.reset(event);
    }
  }
  bytes_ = size;
}

std::byte* PlanMemory::begin() {
  check(bytes_ > 0, "attention plan without memory");
  turn_ ^= 1;
  // An event that was never recorded counts as complete.
  check_cuda(cudaEventSynchronize(host_[turn_].copied.get()), "waiting for the copy of an earlier attention plan");
  return host_[turn_].memory.get();
}

void PlanMemory::end(cudaStream_t stream) {
  check_cuda(cudaEventRecord(host_[turn_].copied.get(), stream), "recording the copy of the attention plan");
}

void check_attention_rows(const Tensor& rows, const char* name, DType dtype, int heads, std::int64_t tokens) {
  check(rows.dtype() == dtype, "attention ", name, ": found ", name_of(rows.dtype()), ", planned ", name_of(dtype));
  check(rows.rank() == 2 && rows.dim(0) >= tokens && rows.dim(1) == std::int64_t{heads} * kFlashInferHeadDim,
        "attention ", name, ": found ", rows.shape_text(), ", planned ", tokens, " rows of ", heads, " heads of ",
        kFlashInferHeadDim);
  check(rows.row_stride() % 8 == 0 && reinterpret_cast<std::uintptr_t>(rows.raw()) % 16 == 0, "attention ", name,
        ": rows must start on 16-byte borders; the row stride is ", rows.row_stride());
}

}  // namespace lingbot_map::cuda
