#pragma once

#include "backend/cuda/memory.hpp"

namespace lingbot_map::cuda {

/// The way of weights to the device: in pieces through page-locked memory, two of which take turns, so that the host
/// fills one while the bus carries the other; rounded on the device.
class WeightUpload {
 public:
  WeightUpload(int device, cudaStream_t stream);
  ~WeightUpload();
  WeightUpload(const WeightUpload&) = delete;
  WeightUpload& operator=(const WeightUpload&) = delete;

  /// Writes float32 rows [rows, width] of the host to rows of `type` on the device, `stride` elements apart, what lies
  /// between them zero. Returns when `source` may go.
  void send(std::span<const float> source, std::int64_t width, void* target, std::int64_t stride, DType type,
            cudaStream_t stream);

 private:
  struct Turn {
    PinnedMemory host;
    Buffer device;
    cudaEvent_t done = nullptr;
    Turn(int index, cudaStream_t stream);
    ~Turn();
  };
  static constexpr std::size_t kPiece = std::size_t{16} << 20;

  Turn first_;
  Turn second_;
  bool second_is_next_ = false;
};

}  // namespace lingbot_map::cuda
