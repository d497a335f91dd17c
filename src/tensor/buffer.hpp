#pragma once

#include <cstddef>
#include <memory>

#include "tensor/tensor.hpp"

namespace lingbot_map {

/// Owned memory of one device, aligned to 64 bytes, freed when the last owner goes. CPU memory is zeroed.
class Buffer {
 public:
  using Deleter = void (*)(void* data, std::size_t bytes);

  Buffer() = default;
  /// Allocates `bytes` on the CPU. Throws Error(resource) that names the size when there is no memory.
  [[nodiscard]] static Buffer allocate_cpu(std::size_t bytes);
  /// Adopts memory of any device.
  Buffer(void* data, std::size_t bytes, Device device, Deleter deleter);

  [[nodiscard]] void* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  /// A view from `offset` bytes on.
  [[nodiscard]] Tensor view(DType dtype, std::initializer_list<std::int64_t> shape, std::size_t offset = 0) const;

 private:
  std::shared_ptr<void> data_;
  std::size_t bytes_ = 0;
  Device device_;
};

/// Hands out parts of one buffer in stack order: no allocation while frames run. Without memory behind it (`measure`)
/// it only counts, which is how the memory of a forward pass is known before it starts.
class Arena {
 public:
  Arena() = default;
  explicit Arena(Buffer buffer) : buffer_(std::move(buffer)) {}

  /// The next part, aligned to 64 bytes. Throws Error(internal) when the buffer is too small.
  [[nodiscard]] Tensor allocate(DType dtype, std::initializer_list<std::int64_t> shape);
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  /// The most that was ever in use.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  /// Keeps all parts that are allocated from watch() to keep_watched() out of use until the scope around both ends,
  /// even those that were given back: for work that runs at the same time as what comes next. Not nested.
  void watch() noexcept { watched_ = used_; }
  void keep_watched() noexcept { used_ = watched_; }

  /// Gives back on destruction all that was allocated since construction.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), mark_(arena.used_) {}
    ~Scope() { arena_.used_ = mark_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t mark_;
  };

 private:
  Buffer buffer_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t watched_ = 0;  ///< the most in use since watch()
};

}  // namespace lingbot_map
