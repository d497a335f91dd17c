#pragma once

#include <cstddef>
#include <memory>

#include "tensor/growing_memory.hpp"

namespace lingbot_map {

/// GrowingMemory of the CPU: an anonymous mapping. The kernel gives a page when it is first written, so address space
/// that nobody touches costs nothing; growing moves page tables (mremap), not bytes. Capacity grows by an eighth at a
/// time, so the price of growing is constant per byte and little is asked for in advance, which matters on machines
/// that account for every mapped page (vm.overcommit_memory=2).
class GrowingBuffer final : public GrowingMemory {
 public:
  GrowingBuffer() = default;
  ~GrowingBuffer() override;
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;

  void ensure(std::size_t bytes) override;
  [[nodiscard]] void* data() const noexcept override { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] Device device() const noexcept override { return Device::cpu(); }

  /// A GrowingMemoryMaker.
  [[nodiscard]] static std::unique_ptr<GrowingMemory> make() { return std::make_unique<GrowingBuffer>(); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace lingbot_map
