#include "backend/cpu/cpu_backend.hpp"

#include <chrono>
#include <cstring>

#include "backend/cpu/cpu_matrix.hpp"
#include "tensor/growing_buffer.hpp"

namespace lingbot_map {

namespace {

/// Everything is done when it is called, so a way in and out is two blocks of memory.
class CpuTransfer final : public Transfer {
 public:
  CpuTransfer(std::size_t in_bytes, std::size_t out_bytes)
      : in_(Buffer::allocate_cpu(in_bytes)), out_(Buffer::allocate_cpu(out_bytes)) {}

  std::span<std::byte> input() override { return {static_cast<std::byte*>(in_.data()), in_.bytes()}; }
  void send(const Tensor& target) override {
    check(target.contiguous() && target.bytes() <= in_.bytes(), "sending ", target.shape_text(), " from ", in_.bytes(),
          " bytes");
    std::memcpy(target.raw(), in_.data(), target.bytes());
  }
  void receive(std::span<const Tensor> sources) override {
    received_ = 0;
    for (const Tensor& source : sources) {
      check(source.contiguous() && received_ + source.bytes() <= out_.bytes(), "receiving ", source.shape_text(),
            " after ", received_, " of ", out_.bytes(), " bytes");
      std::memcpy(static_cast<std::byte*>(out_.data()) + received_, source.raw(), source.bytes());
      received_ += source.bytes();
    }
  }
  std::span<const std::byte> output() override { return {static_cast<const std::byte*>(out_.data()), received_}; }

 private:
  Buffer in_;
  Buffer out_;
  std::size_t received_ = 0;
};

class CpuClock final : public StageClock {
 public:
  void start() override { start_ = std::chrono::steady_clock::now(); }
  void stop(double& total) override {
    total += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void settle() override {}

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

CpuBackend::CpuBackend(int threads, const cpu::Kernels* kernels)
    : kernels_(kernels != nullptr ? *kernels : *cpu::available_kernels().front()), threads_(threads) {}

void CpuBackend::upload(std::span<const std::byte> source, const Tensor& target) {
  check(target.contiguous() && target.bytes() == source.size(), "upload of ", source.size(), " bytes to ",
        target.shape_text());
  std::memcpy(target.raw(), source.data(), source.size());
}

void CpuBackend::download(const Tensor& source, std::span<std::byte> target) {
  check(source.contiguous() && source.bytes() == target.size(), "download of ", source.shape_text(), " to ",
        target.size(), " bytes");
  std::memcpy(target.data(), source.raw(), target.size());
}

GrowingMemoryMaker CpuBackend::growing_memory() { return GrowingBuffer::make; }

std::unique_ptr<Transfer> CpuBackend::make_transfer(std::size_t in_bytes, std::size_t out_bytes) {
  return std::make_unique<CpuTransfer>(in_bytes, out_bytes);
}

void CpuBackend::beside(const std::function<void()>& first, const std::function<void()>& second) {
  first();
  second();
}

void CpuBackend::replay(const Recording&) { fail(ErrorCode::internal, "a recording on the CPU"); }

std::unique_ptr<StageClock> CpuBackend::make_clock() { return std::make_unique<CpuClock>(); }

std::shared_ptr<const Matrix> CpuBackend::pack(std::span<const float> weights, std::int64_t out, std::int64_t in,
                                               Precision precision) {
  check(precision != Precision::f16, "CPU weights of fp16");
  return std::make_shared<cpu::CpuMatrix>(cpu::pack_matrix(kernels_, weights, out, in, storage_of(precision)));
}

void CpuBackend::copy(const Tensor& source, const Tensor& target) {
  check(source.dtype() == target.dtype() && source.dim(0) == target.dim(0) &&
            source.row_elements() == target.row_elements(),
        "copy of ", source.shape_text(), " to ", target.shape_text());
  const std::size_t size = size_of(source.dtype());
  const std::size_t row_bytes = static_cast<std::size_t>(source.row_elements()) * size;
  const auto* from = static_cast<const std::byte*>(source.raw());
  auto* to = static_cast<std::byte*>(target.raw());
  for (std::int64_t row = 0; row < source.dim(0); ++row) {
    std::memcpy(to + static_cast<std::size_t>(row * target.row_stride()) * size,
                from + static_cast<std::size_t>(row * source.row_stride()) * size, row_bytes);
  }
}

void CpuBackend::clear(const Tensor& target) {
  check(target.contiguous(), "clear of a strided view");
  std::memset(target.raw(), 0, target.bytes());
}

}  // namespace lingbot_map
