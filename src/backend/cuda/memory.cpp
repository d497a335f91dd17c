#include "backend/cuda/memory.hpp"

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "backend/cuda/check.hpp"
#include "backend/cuda/cuda_backend.hpp"

namespace lingbot_map::cuda {
namespace {

std::atomic<std::size_t> taken{0};
std::atomic<std::size_t> most_taken{0};

void take(std::size_t bytes) {
  const std::size_t now = taken += bytes;
  std::size_t most = most_taken;
  while (now > most && !most_taken.compare_exchange_weak(most, now)) {
  }
}

/// The driver's functions for virtual memory, found at run time so that nothing links the driver.
struct VirtualMemory {
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;

  VirtualMemory() {
    find("cuMemAddressReserve", reserve);
    find("cuMemAddressFree", free);
    find("cuMemCreate", create);
    find("cuMemRelease", release);
    find("cuMemMap", map);
    find("cuMemUnmap", unmap);
    find("cuMemSetAccess", set_access);
    find("cuMemGetAllocationGranularity", granularity);
  }
  [[nodiscard]] bool complete() const noexcept {
    return reserve != nullptr && free != nullptr && create != nullptr && release != nullptr && map != nullptr &&
           unmap != nullptr && set_access != nullptr && granularity != nullptr;
  }

  static const VirtualMemory& get() {
    static const VirtualMemory functions;
    return functions;
  }

 private:
  template <typename Function>
  static void find(const char* name, Function& function) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    constexpr unsigned kVersion = 12000;
    if (cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &found) == cudaSuccess &&
        found == cudaDriverEntryPointSuccess) {
      function = reinterpret_cast<Function>(address);
    } else {
      (void)cudaGetLastError();
    }
  }
};

[[noreturn]] void no_room(std::size_t bytes) {
  fail(ErrorCode::resource, "memory for the cache: the GPU has no room for ", bytes,
       " more bytes; take a smaller window, a larger keyframe interval or smaller frames");
}

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

class MappedMemory final : public GrowingMemory {
 public:
  MappedMemory(const CudaBackend& backend, std::size_t granule, cudaStream_t stream)
      : backend_(backend), device_(backend.device().index), granule_(granule), stream_(stream) {}

  ~MappedMemory() override {
    if (base_ == 0) return;
    const auto guard = backend_.lock();
    (void)cudaStreamSynchronize(stream_);
    const VirtualMemory& driver = VirtualMemory::get();
    if (bytes_ > 0) (void)driver.unmap(base_, bytes_);
    for (const Piece& piece : pieces_) (void)driver.release(piece.handle);
    (void)driver.free(base_, reserved_);
    taken -= bytes_;
  }

  void ensure(std::size_t bytes) override {
    if (bytes <= bytes_) return;
    const auto guard = backend_.lock();
    const std::size_t size = (bytes + granule_ - 1) / granule_ * granule_;
    if (size > reserved_) reserve(size);
    const std::size_t more = size - bytes_;
    const VirtualMemory& driver = VirtualMemory::get();
    const CUmemAllocationProp properties = properties_of(device_);
    Piece piece{.bytes = more};
    if (driver.create(&piece.handle, more, &properties, 0) != CUDA_SUCCESS) no_room(more);
    if (!map(piece, base_ + bytes_)) {
      (void)driver.release(piece.handle);
      no_room(more);
    }
    pieces_.push_back(piece);
    check_cuda(cudaMemsetAsync(reinterpret_cast<void*>(base_ + bytes_), 0, more, stream_), "clearing cache memory");
    bytes_ = size;
    take(more);
  }

  [[nodiscard]] void* data() const noexcept override { return reinterpret_cast<void*>(base_); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] Device device() const noexcept override { return Device::cuda(device_); }

 private:
  struct Piece {
    CUmemGenericAllocationHandle handle = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool map(const Piece& piece, CUdeviceptr address) const {
    const VirtualMemory& driver = VirtualMemory::get();
    if (driver.map(address, piece.bytes, 0, piece.handle, 0) != CUDA_SUCCESS) return false;
    const CUmemAccessDesc access{.location = properties_of(device_).location,
                                 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (driver.set_access(address, piece.bytes, &access, 1) == CUDA_SUCCESS) return true;
    (void)driver.unmap(address, piece.bytes);
    return false;
  }

  /// Address space for `bytes` and much growth. A block that outgrows it is mapped again elsewhere, without a copy.
  void reserve(std::size_t bytes) {
    constexpr std::size_t kLeast = std::size_t{8} << 30;
    const VirtualMemory& driver = VirtualMemory::get();
    const std::size_t size = std::max(kLeast, (2 * bytes + granule_ - 1) / granule_ * granule_);
    CUdeviceptr base = 0;
    if (driver.reserve(&base, size, 0, 0, 0) != CUDA_SUCCESS) no_room(bytes);
    if (base_ != 0) {
      check_cuda(cudaStreamSynchronize(stream_), "moving the cache");
      if (bytes_ > 0) (void)driver.unmap(base_, bytes_);
      CUdeviceptr at = base;
      for (const Piece& piece : pieces_) {
        check(map(piece, at), "cache memory could not be mapped again");
        at += piece.bytes;
      }
      (void)driver.free(base_, reserved_);
    }
    base_ = base;
    reserved_ = size;
  }

  const CudaBackend& backend_;
  int device_;
  std::size_t granule_;
  cudaStream_t stream_;
  CUdeviceptr base_ = 0;
  std::size_t reserved_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Piece> pieces_;
};

class CopiedMemory final : public GrowingMemory {
 public:
  CopiedMemory(const CudaBackend& backend, cudaStream_t stream)
      : backend_(backend), device_(backend.device().index), stream_(stream) {}

  void ensure(std::size_t bytes) override {
    if (bytes <= buffer_.bytes()) return;
    const auto guard = backend_.lock();
    constexpr std::size_t kGranule = std::size_t{2} << 20;
    const std::size_t wanted = std::max(bytes, buffer_.bytes() + buffer_.bytes() / 8);
    Buffer larger = allocate_device((wanted + kGranule - 1) / kGranule * kGranule, device_, stream_);
    if (!buffer_.empty()) {
      check_cuda(cudaMemcpyAsync(larger.data(), buffer_.data(), buffer_.bytes(), cudaMemcpyDeviceToDevice, stream_),
                 "growing the cache");
      check_cuda(cudaStreamSynchronize(stream_), "growing the cache");
    }
    buffer_ = std::move(larger);
  }
  [[nodiscard]] void* data() const noexcept override { return buffer_.data(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return buffer_.bytes(); }
  [[nodiscard]] Device device() const noexcept override { return Device::cuda(device_); }

 private:
  const CudaBackend& backend_;
  int device_;
  cudaStream_t stream_;
  Buffer buffer_;
};

}  // namespace

Buffer allocate_device(std::size_t bytes, int device, cudaStream_t stream) {
  void* data = nullptr;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  if (cudaMalloc(&data, size) == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    fail(ErrorCode::resource, "out of GPU memory: ", bytes, " bytes could not be allocated on cuda:", device,
         "; take a smaller window, fewer scale frames or smaller frames");
  }
  check_cuda(cudaGetLastError(), "allocating GPU memory");
  take(size);
  Buffer buffer(data, bytes, Device::cuda(device), [](void* p, std::size_t bytes) {
    (void)cudaFree(p);
    taken -= std::max<std::size_t>(bytes, 1);
  });
  check_cuda(cudaMemsetAsync(data, 0, size, stream), "clearing GPU memory");
  return buffer;
}

PinnedMemory::PinnedMemory(std::size_t bytes) : bytes_(bytes) {
  check_cuda(cudaMallocHost(&data_, std::max<std::size_t>(bytes, 1)), "allocating page-locked host memory");
}
PinnedMemory::~PinnedMemory() { (void)cudaFreeHost(data_); }

std::size_t allocated_bytes() noexcept { return taken; }
std::size_t peak_bytes() noexcept { return most_taken; }

std::unique_ptr<GrowingMemory> make_growing_memory(const CudaBackend& backend, cudaStream_t stream) {
  const VirtualMemory& driver = VirtualMemory::get();
  const CUmemAllocationProp properties = properties_of(backend.device().index);
  std::size_t granule = 0;
  if (driver.complete() &&
      driver.granularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS && granule > 0) {
    return std::make_unique<MappedMemory>(backend, granule, stream);
  }
  return std::make_unique<CopiedMemory>(backend, stream);
}

}  // namespace lingbot_map::cuda
