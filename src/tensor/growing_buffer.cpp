#include "tensor/growing_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map {

namespace {

/// Mappings grow in steps of this size, a multiple of every page size in use.
constexpr std::size_t kStep = std::size_t{64} << 10;
constexpr std::size_t kLargest = static_cast<std::size_t>(PTRDIFF_MAX) / 2;

std::size_t round_up(std::size_t bytes) { return (bytes + kStep - 1) / kStep * kStep; }

}  // namespace

GrowingBuffer::~GrowingBuffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

GrowingBuffer& GrowingBuffer::operator=(GrowingBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void GrowingBuffer::ensure(std::size_t bytes) {
  if (bytes <= bytes_) return;
  if (bytes > kLargest) fail(ErrorCode::resource, "memory for the cache: ", bytes, " bytes are beyond address space");
  const std::size_t size = round_up(std::max(bytes, bytes_ + bytes_ / 8));
  void* const data =
      data_ == nullptr ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                       : mremap(data_, bytes_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    fail(ErrorCode::resource, "memory for the cache: no room for ", bytes, " bytes in one block (",
         std::generic_category().message(errno), "); take a smaller window or smaller frames");
  }
  data_ = data;
  bytes_ = size;
}

}  // namespace lingbot_map
