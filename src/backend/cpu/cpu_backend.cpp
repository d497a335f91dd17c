#include "backend/cpu/cpu_backend.hpp"

#include <cstring>

#include "backend/cpu/cpu_matrix.hpp"
#include "tensor/growing_buffer.hpp"

namespace lingbot_map {

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

std::shared_ptr<const Matrix> CpuBackend::pack(std::span<const float> weights, std::int64_t out, std::int64_t in,
                                               DType dtype) {
  check(dtype == DType::f32 || dtype == DType::bf16, "CPU weights of type ", name_of(dtype));
  return std::make_shared<cpu::CpuMatrix>(cpu::pack_matrix(kernels_, weights, out, in, dtype));
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
