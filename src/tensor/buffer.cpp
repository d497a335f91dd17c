#include "tensor/buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lingbot_map {
namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kAddressSpace = std::size_t{1} << 47;
std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
}  // namespace

Buffer::Buffer(void* data, std::size_t bytes, Device device, Deleter deleter)
    : data_(data, [bytes, deleter](void* p) { deleter(p, bytes); }), bytes_(bytes), device_(device) {}

Buffer Buffer::allocate_cpu(std::size_t bytes) {
  const std::size_t size = std::max(aligned(bytes), kAlignment);
  void* data = bytes <= kAddressSpace ? std::aligned_alloc(kAlignment, size) : nullptr;
  if (data == nullptr) fail(ErrorCode::resource, "out of memory: ", bytes, " bytes could not be allocated");
  std::memset(data, 0, size);
  return {data, bytes, Device::cpu(), [](void* p, std::size_t) { std::free(p); }};
}

Tensor Buffer::view(DType dtype, std::initializer_list<std::int64_t> shape, std::size_t offset) const {
  Tensor tensor(static_cast<std::byte*>(data()) + offset, dtype, shape, device_);
  check(offset + tensor.bytes() <= bytes_, "view ", tensor.shape_text(), " past the end of a buffer of ", bytes_,
        " bytes");
  return tensor;
}

Tensor Arena::allocate(DType dtype, std::initializer_list<std::int64_t> shape) {
  // Without a buffer the view's address is an offset: never null, never read.
  auto* base = buffer_.empty() ? reinterpret_cast<std::byte*>(kAlignment) : static_cast<std::byte*>(buffer_.data());
  Tensor tensor(base + used_, dtype, shape, buffer_.device());
  used_ += aligned(tensor.bytes());
  peak_ = std::max(peak_, used_);
  watched_ = std::max(watched_, used_);
  check(buffer_.empty() || used_ <= buffer_.bytes(), "arena of ", buffer_.bytes(), " bytes is too small for ",
        tensor.shape_text());
  return tensor;
}

}  // namespace lingbot_map
