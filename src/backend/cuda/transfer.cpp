#include "backend/cuda/transfer.hpp"

#include "backend/cuda/check.hpp"

namespace lingbot_map::cuda {

CudaTransfer::CudaTransfer(CudaBackend& backend, cudaStream_t sending, cudaStream_t receiving, std::size_t in_bytes,
                           std::size_t out_bytes)
    : backend_(backend),
      sending_(sending),
      receiving_(receiving),
      in_host_(in_bytes),
      out_host_(out_bytes),
      in_device_(backend.allocate(in_bytes)),
      out_device_(backend.allocate(out_bytes)) {
  for (cudaEvent_t* event : {&sent_, &used_, &computed_, &fetched_}) {
    check_cuda(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event");
  }
  // The device memory is cleared by the backend's stream: copies come after that.
  check_cuda(cudaEventRecord(used_, backend.stream()), "sending a frame");
}

CudaTransfer::~CudaTransfer() {
  const auto guard = backend_.lock();
  for (cudaStream_t stream : {sending_, receiving_, backend_.stream()}) (void)cudaStreamSynchronize(stream);
  for (cudaEvent_t event : {sent_, used_, computed_, fetched_}) (void)cudaEventDestroy(event);
}

void CudaTransfer::send(const Tensor& target) {
  const auto guard = backend_.lock();
  check(target.contiguous() && target.bytes() <= in_device_.bytes(), "sending ", target.shape_text(), " from ",
        in_device_.bytes(), " bytes");
  check_cuda(cudaStreamWaitEvent(sending_, used_, 0), "sending a frame");
  check_cuda(
      cudaMemcpyAsync(in_device_.data(), in_host_.bytes().data(), target.bytes(), cudaMemcpyHostToDevice, sending_),
      "sending a frame");
  check_cuda(cudaEventRecord(sent_, sending_), "sending a frame");
  check_cuda(cudaStreamWaitEvent(backend_.stream(), sent_, 0), "sending a frame");
  check_cuda(
      cudaMemcpyAsync(target.raw(), in_device_.data(), target.bytes(), cudaMemcpyDeviceToDevice, backend_.stream()),
      "sending a frame");
  check_cuda(cudaEventRecord(used_, backend_.stream()), "sending a frame");
}

void CudaTransfer::receive(std::span<const Tensor> sources) {
  const auto guard = backend_.lock();
  received_ = 0;
  for (const Tensor& source : sources) {
    check(source.contiguous() && received_ + source.bytes() <= out_device_.bytes(), "receiving ", source.shape_text(),
          " after ", received_, " of ", out_device_.bytes(), " bytes");
    check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(out_device_.data()) + received_, source.raw(), source.bytes(),
                               cudaMemcpyDeviceToDevice, backend_.stream()),
               "receiving a frame");
    received_ += source.bytes();
  }
  check_cuda(cudaEventRecord(computed_, backend_.stream()), "receiving a frame");
  check_cuda(cudaStreamWaitEvent(receiving_, computed_, 0), "receiving a frame");
  check_cuda(
      cudaMemcpyAsync(out_host_.bytes().data(), out_device_.data(), received_, cudaMemcpyDeviceToHost, receiving_),
      "receiving a frame");
  check_cuda(cudaEventRecord(fetched_, receiving_), "receiving a frame");
}

std::span<const std::byte> CudaTransfer::output() {
  check_cuda(cudaEventSynchronize(fetched_), "waiting for a frame");
  return out_host_.bytes().first(received_);
}

}  // namespace lingbot_map::cuda
