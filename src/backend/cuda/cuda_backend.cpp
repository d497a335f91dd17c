#include "backend/cuda/cuda_backend.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cuda/architectures.hpp"
#include "backend/cuda/check.hpp"
#include "backend/cuda/convolutions.hpp"
#include "backend/cuda/kernels.hpp"
#include "backend/cuda/memory.hpp"
#include "backend/cuda/recording.hpp"
#include "backend/cuda/stage_clock.hpp"
#include "backend/cuda/transfer.hpp"
#include "backend/cuda/weight_upload.hpp"

namespace lingbot_map {

using namespace cuda;

namespace {

/// For cuBLASLt: what it asks for on GPUs of the Hopper class, and enough elsewhere.
constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return stream;
}

cudaEvent_t make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  return event;
}

}  // namespace

CudaBackend::CudaBackend(int device) : device_(device) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    fail(ErrorCode::unsupported, "device cuda:", device, ": no usable NVIDIA GPU here (",
         found != cudaSuccess ? cudaGetErrorString(found) : "none found", "); take --device cpu");
  }
  if (device < 0 || device >= count) {
    fail(ErrorCode::unsupported, "device cuda:", device, ": this machine has GPUs 0 to ", count - 1);
  }
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "asking for the GPU's properties");
  compute_capability_ = 10 * properties.major + properties.minor;
  multiprocessors_ = properties.multiProcessorCount;
  check_architecture(device, properties.name, properties.major, properties.minor);
  make_current();
  main_ = make_stream();
  side_ = make_stream();
  sending_ = make_stream();
  receiving_ = make_stream();
  current_ = main_;
  forked_ = make_event();
  joined_ = make_event();
  products_ = std::make_unique<ProductLibrary>(allocate(kProductWorkspace));
  convolutions_ = std::make_unique<Convolutions>();
}

CudaBackend::~CudaBackend() {
  (void)cudaSetDevice(device_);
  (void)cudaDeviceSynchronize();
  weight_upload_.reset();
  convolutions_.reset();
  products_.reset();
  scratch_.clear();
  for (cudaEvent_t event : {forked_, joined_}) (void)cudaEventDestroy(event);
  for (cudaStream_t stream : {main_, side_, sending_, receiving_}) (void)cudaStreamDestroy(stream);
}

std::unique_lock<std::recursive_mutex> CudaBackend::lock() const {
  std::unique_lock guard(mutex_);
  make_current();
  return guard;
}

void CudaBackend::make_current() const { check_cuda(cudaSetDevice(device_), "choosing the GPU"); }

const std::string& CudaBackend::convolution_library() const noexcept { return convolutions_->description(); }

bool CudaBackend::supports(DType dtype) const noexcept {
  return dtype == DType::f32 || dtype == DType::f16 || (dtype == DType::bf16 && compute_capability_ >= 80);
}

// ---- Memory --------------------------------------------------------------------------------------------------------

Buffer CudaBackend::allocate(std::size_t bytes) {
  const auto guard = lock();
  return allocate_device(bytes, device_, main_);
}

void CudaBackend::upload(std::span<const std::byte> source, const Tensor& target) {
  const auto guard = lock();
  check(target.contiguous() && target.bytes() == source.size(), "upload of ", source.size(), " bytes to ",
        target.shape_text());
  if (source.empty()) return;
  check_cuda(cudaMemcpyAsync(target.raw(), source.data(), source.size(), cudaMemcpyHostToDevice, current_), "upload");
  check_cuda(cudaStreamSynchronize(current_), "upload");
}

void CudaBackend::download(const Tensor& source, std::span<std::byte> target) {
  const auto guard = lock();
  check(source.contiguous() && source.bytes() == target.size(), "download of ", source.shape_text(), " to ",
        target.size(), " bytes");
  if (target.empty()) return;
  check_cuda(cudaMemcpyAsync(target.data(), source.raw(), target.size(), cudaMemcpyDeviceToHost, current_), "download");
  check_cuda(cudaStreamSynchronize(current_), "download");
}

GrowingMemoryMaker CudaBackend::growing_memory() {
  return [this] {
    const auto guard = lock();
    return make_growing_memory(*this, main_);
  };
}

Backend::Overhead CudaBackend::overhead(std::int64_t pixels, DType dtype) const {
  // Measured on an H200 with CUDA 13.0 and cuDNN 9.19 (docs/benchmarks.md): the context with this program's kernels and
  // those libraries; for a product's sums and staged weights; cuDNN's exact float32 convolutions take 640 bytes a
  // pixel.
  constexpr std::size_t kContext = std::size_t{610} << 20;
  constexpr std::size_t kFixed = std::size_t{72} << 20;
  const std::size_t convolutions = static_cast<std::size_t>(pixels) * (dtype == DType::f32 ? 640 : 64);
  return {.workspace = kProductWorkspace + kFixed + convolutions, .context = kContext};
}

std::unique_ptr<Transfer> CudaBackend::make_transfer(std::size_t in_bytes, std::size_t out_bytes) {
  const auto guard = lock();
  return std::make_unique<CudaTransfer>(*this, sending_, receiving_, in_bytes, out_bytes);
}

void* CudaBackend::scratch(std::size_t bytes) {
  check(current_ == main_, "scratch memory beside other work");
  if (scratch_.empty() || scratch_.back().bytes() < bytes) scratch_.push_back(allocate(bytes));
  return scratch_.back().data();
}

// ---- Order ---------------------------------------------------------------------------------------------------------

void CudaBackend::beside(const std::function<void()>& first, const std::function<void()>& second) {
  const auto guard = lock();
  check(current_ == main_, "work beside work that is beside other work");
  check_cuda(cudaEventRecord(forked_, main_), "forking");
  check_cuda(cudaStreamWaitEvent(side_, forked_, 0), "forking");
  const auto join = [this] {
    current_ = main_;
    check_cuda(cudaEventRecord(joined_, side_), "joining");
    check_cuda(cudaStreamWaitEvent(main_, joined_, 0), "joining");
  };
  try {
    current_ = side_;
    first();
    current_ = main_;
    second();
  } catch (...) {
    join();
    throw;
  }
  join();
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& work) {
  const auto guard = lock();
  return CudaRecording::of(main_, work);
}

void CudaBackend::replay(const Recording& recording) {
  const auto guard = lock();
  const auto* own = dynamic_cast<const CudaRecording*>(&recording);
  check(own != nullptr, "a recording of another back end");
  own->launch(current_);
}

std::unique_ptr<StageClock> CudaBackend::make_clock() { return std::make_unique<CudaClock>(*this); }

// ---- Weights -------------------------------------------------------------------------------------------------------

std::shared_ptr<const Matrix> CudaBackend::pack(std::span<const float> weights, std::int64_t out, std::int64_t in,
                                                Precision precision) {
  const auto guard = lock();
  check(out >= 0 && in >= 0 && weights.size() == static_cast<std::size_t>(out * in), "weights of ", weights.size(),
        " elements for ", out, "x", in);
  check(supports(storage_of(precision)), "weights of ", name_of(storage_of(precision)), " on this GPU");
  const auto size = static_cast<std::int64_t>(size_of(storage_of(precision)));
  const std::int64_t granule = 16 / size;
  const std::int64_t stride = (in + granule - 1) / granule * granule;
  Buffer buffer = allocate(static_cast<std::size_t>(out * stride * size));
  if (!weights.empty()) {
    if (!weight_upload_) weight_upload_ = std::make_unique<WeightUpload>(device_, main_);
    weight_upload_->send(weights, in, buffer.data(), stride, storage_of(precision), current_);
  }
  return std::make_shared<CudaMatrix>(std::move(buffer), out, in, stride, precision);
}

}  // namespace lingbot_map
