#include "backend/cuda/weight_upload.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cuda/check.hpp"
#include "backend/cuda/kernels.hpp"

namespace lingbot_map::cuda {

WeightUpload::Turn::Turn(int index, cudaStream_t stream)
    : host(kPiece), device(allocate_device(kPiece, index, stream)) {
  check_cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "making an event");
}

WeightUpload::Turn::~Turn() {
  (void)cudaEventSynchronize(done);
  (void)cudaEventDestroy(done);
}

WeightUpload::WeightUpload(int device, cudaStream_t stream) : first_(device, stream), second_(device, stream) {}
WeightUpload::~WeightUpload() = default;

void WeightUpload::send(std::span<const float> source, std::int64_t width, void* target, std::int64_t stride,
                        DType type, cudaStream_t stream) {
  if (source.empty()) return;
  const auto row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  check(row_bytes <= kPiece && source.size_bytes() % row_bytes == 0, "weights in rows of ", width);
  const auto rows = static_cast<std::int64_t>(source.size_bytes() / row_bytes);
  const auto at_once = static_cast<std::int64_t>(kPiece / row_bytes);
  for (std::int64_t row = 0; row < rows; row += at_once) {
    Turn& turn = second_is_next_ ? second_ : first_;
    second_is_next_ = !second_is_next_;
    const std::int64_t count = std::min(at_once, rows - row);
    const std::size_t bytes = static_cast<std::size_t>(count) * row_bytes;
    check_cuda(cudaEventSynchronize(turn.done), "sending weights");
    std::memcpy(turn.host.bytes().data(), source.data() + row * width, bytes);
    check_cuda(cudaMemcpyAsync(turn.device.data(), turn.host.bytes().data(), bytes, cudaMemcpyHostToDevice, stream),
               "sending weights");
    auto* const place = static_cast<std::byte*>(target) + static_cast<std::size_t>(row * stride) * size_of(type);
    convert_rows(static_cast<const float*>(turn.device.data()), width, place, stride, type, count, width, stride,
                 stream);
    check_cuda(cudaEventRecord(turn.done, stream), "sending weights");
  }
}

}  // namespace lingbot_map::cuda
