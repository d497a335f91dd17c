#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cuda/product.hpp"

namespace lingbot_map {

namespace cuda {
class Convolutions;
class WeightUpload;
}  // namespace cuda

/// The operations on one NVIDIA GPU: products by cuBLASLt, convolutions by cuDNN where it is installed, everything else
/// by the project's own kernels. Operations are queued on one stream and run in the order of their calls; nothing waits
/// for the device but download(), Transfer::output() and StageClock::settle(). Memory that operations need for
/// themselves is taken on the first call of each size and kept, so that a recording stays valid and a later frame
/// allocates nothing.
class CudaBackend final : public Backend {
 public:
  /// Throws Error(unsupported) when there is no such GPU, or this build has no code for it.
  explicit CudaBackend(int device);
  ~CudaBackend() override;

  /// Held by every operation, and by whoever launches on stream() himself, to keep what belongs together together.
  /// The GPU is then the calling thread's current one.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() const;
  /// Where operations go now: work that must be in order with them goes there too.
  [[nodiscard]] cudaStream_t stream() const noexcept { return current_; }
  /// 10 * major + minor.
  [[nodiscard]] int compute_capability() const noexcept { return compute_capability_; }
  [[nodiscard]] int multiprocessors() const noexcept { return multiprocessors_; }
  /// What runs the convolutions, for people: "cuDNN 9.19.0", or why it does not.
  [[nodiscard]] const std::string& convolution_library() const noexcept;

  [[nodiscard]] Device device() const noexcept override { return Device::cuda(device_); }
  [[nodiscard]] DType preferred_dtype() const noexcept override {
    return compute_capability_ >= 80 ? DType::bf16 : DType::f16;
  }
  [[nodiscard]] bool supports(DType dtype) const noexcept override;
  [[nodiscard]] int threads_used() const noexcept override { return 1; }

  [[nodiscard]] Buffer allocate(std::size_t bytes) override;
  void upload(std::span<const std::byte> source, const Tensor& target) override;
  void download(const Tensor& source, std::span<std::byte> target) override;
  [[nodiscard]] GrowingMemoryMaker growing_memory() override;
  [[nodiscard]] Overhead overhead(std::int64_t pixels, DType dtype) const override;
  [[nodiscard]] std::unique_ptr<Transfer> make_transfer(std::size_t in_bytes, std::size_t out_bytes) override;
  void beside(const std::function<void()>& first, const std::function<void()>& second) override;
  [[nodiscard]] std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  void replay(const Recording& recording) override;
  [[nodiscard]] std::unique_ptr<StageClock> make_clock() override;
  [[nodiscard]] std::shared_ptr<const Matrix> pack(std::span<const float> weights, std::int64_t out, std::int64_t in,
                                                   Precision precision) override;

  void embed_patches(const Tensor& images, int patch, const Linear& projection, const Tensor& positions,
                     std::int64_t first, const Tensor& x) override;
  void copy(const Tensor& source, const Tensor& target) override;
  void clear(const Tensor& target) override;
  void layer_norm(const Tensor& x, const Norm& norm, const Tensor& y) override;
  void linear(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y) override;
  void split_heads(const Tensor& qkv, std::int64_t frames, const HeadSplit& split, const Tensor& q,
                   const KeyValueTarget& target) override;
  void linear_heads(const Tensor& x, const Linear& qkv, std::int64_t frames, const HeadSplit& split,
                    const Tensor& scratch, const Tensor& q, const KeyValueTarget& target) override;
  void silu(const Tensor& x, const Tensor& y) override;
  void modulate(const Tensor& x, const Tensor& modulation, const Tensor& y) override;
  void convolve(const Tensor& x, const Convolution& convolution, Activation activation, const Tensor& y) override;
  void relu(const Tensor& x) override;
  void add(const Tensor& x, const Tensor& y) override;
  void add_positions(const Tensor& columns, const Tensor& rows, const Tensor& x) override;
  void resize(const Tensor& x, const Tensor& y) override;
  void depth_to_space(const Tensor& x, std::int64_t height, std::int64_t width, int factor, const Tensor& y) override;
  void depth_outputs(const Tensor& x, const Tensor& depth, const Tensor& confidence) override;
  void point_outputs(const Tensor& x, const Tensor& points, const Tensor& confidence) override;

 private:
  /// Memory for the operation that runs now; the next operation may have the same. Not on the side stream.
  [[nodiscard]] void* scratch(std::size_t bytes);
  /// The product with its epilogue in one kernel of ours, where there is one for this device and these shapes.
  [[nodiscard]] bool multiply_at_once(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y);
  void multiply(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y);
  void convolve_as_product(const Tensor& x, const Convolution& convolution, Activation activation, const Tensor& y);
  void make_current() const;

  mutable std::recursive_mutex mutex_;
  int device_;
  int compute_capability_ = 0;
  int multiprocessors_ = 0;
  cudaStream_t main_ = nullptr;
  cudaStream_t side_ = nullptr;       ///< for the first of two works beside each other
  cudaStream_t sending_ = nullptr;    ///< copies to the device
  cudaStream_t receiving_ = nullptr;  ///< copies from it
  cudaStream_t current_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t joined_ = nullptr;
  std::unique_ptr<cuda::ProductLibrary> products_;
  std::unique_ptr<cuda::Convolutions> convolutions_;
  std::unique_ptr<cuda::WeightUpload> weight_upload_;
  std::vector<Buffer> scratch_;  ///< the last one is in use, older ones may be part of recordings
};

}  // namespace lingbot_map
