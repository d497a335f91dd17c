#include "session/measuring.hpp"

namespace lingbot_map {
namespace {

/// An address that is never followed.
void* nowhere() { return reinterpret_cast<void*>(std::uintptr_t{4096}); }

/// Address space that is never touched.
class NoMemory final : public GrowingMemory {
 public:
  void ensure(std::size_t bytes) override { bytes_ = bytes > bytes_ ? bytes : bytes_; }
  [[nodiscard]] void* data() const noexcept override { return nowhere(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] Device device() const noexcept override { return Device::cpu(); }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace

Buffer MeasuringBackend::allocate(std::size_t bytes) {
  return {nowhere(), bytes, Device::cpu(), [](void*, std::size_t) {}};
}

GrowingMemoryMaker MeasuringBackend::growing_memory() {
  return [] { return std::make_unique<NoMemory>(); };
}

}  // namespace lingbot_map
