#pragma once

#include <array>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/memory.hpp"

namespace lingbot_map::cuda {

/// Host memory that is page-locked, and a copy of it on the device, so that the bus works beside the computation: what
/// comes in waits on the device until its turn, what goes out is set aside there until the bus has taken it.
class CudaTransfer final : public Transfer {
 public:
  CudaTransfer(CudaBackend& backend, cudaStream_t sending, cudaStream_t receiving, std::size_t in_bytes,
               std::size_t out_bytes);
  ~CudaTransfer() override;

  std::span<std::byte> input() override { return in_host_.bytes(); }
  void send(const Tensor& target) override;
  void receive(std::span<const Tensor> sources) override;
  std::span<const std::byte> output() override;

 private:
  CudaBackend& backend_;
  cudaStream_t sending_;
  cudaStream_t receiving_;
  PinnedMemory in_host_;
  PinnedMemory out_host_;
  Buffer in_device_;
  Buffer out_device_;
  std::size_t received_ = 0;
  cudaEvent_t sent_ = nullptr;      ///< the input is on the device
  cudaEvent_t used_ = nullptr;      ///< and has been taken from there
  cudaEvent_t computed_ = nullptr;  ///< the output is set aside on the device
  cudaEvent_t fetched_ = nullptr;   ///< and has come to the host
};

}  // namespace lingbot_map::cuda
