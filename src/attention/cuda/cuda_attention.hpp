#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "attention/attention.hpp"
#include "attention/cuda/cudnn_attention.hpp"
#include "attention/cuda/portable_attention.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/memory.hpp"

namespace lingbot_map::cuda {

/// Device memory that a session's attention needs for itself. What was handed out stays where it is, since a recording
/// may use it; a larger request takes new memory.
class Workspace {
 public:
  [[nodiscard]] void* at_least(CudaBackend& backend, std::size_t bytes);
  [[nodiscard]] std::size_t bytes() const noexcept { return buffers_.empty() ? 0 : buffers_.back().bytes(); }

 private:
  std::vector<Buffer> buffers_;
};

/// A few integers that change from frame to frame, at one place on the device. Two page-locked copies on the host take
/// turns, so that nothing is overwritten before it was copied.
class DeviceNumbers {
 public:
  DeviceNumbers(CudaBackend& backend, std::size_t count);
  ~DeviceNumbers();
  DeviceNumbers(const DeviceNumbers&) = delete;
  DeviceNumbers& operator=(const DeviceNumbers&) = delete;

  /// Makes these the numbers that later operations read.
  void set(std::span<const std::int64_t> numbers);
  [[nodiscard]] const std::int64_t* data() const noexcept { return static_cast<const std::int64_t*>(device_.data()); }

 private:
  struct Turn {
    PinnedMemory memory;
    cudaEvent_t copied = nullptr;
    explicit Turn(std::size_t bytes);
    ~Turn();
  };
  CudaBackend& backend_;
  Buffer device_;
  Turn first_;
  Turn second_;
  bool second_is_next_ = false;
};

/// The kernels of dense attention, best first.
enum class DenseKernel : std::uint8_t {
  hopper,    ///< the project's own for compute capability 9.0: bf16 and fp16
  cudnn,     ///< cuDNN's fused attention: bf16 and fp16, from 8.0 on
  portable,  ///< the project's own for every GPU: bf16, fp16 and exact float32
};

/// What both attention back ends have in common on a GPU: attention within frames and over the camera head's rows, by
/// the fastest kernel that the device has for the type.
class CudaAttention : public Attention {
 public:
  /// Without a kernel named: the best there is. Throws Error(unsupported) when the one named is not available.
  CudaAttention(CudaBackend& backend, DType dtype, std::optional<DenseKernel> kernel = {});

  void within_frames(const Tensor& q, const Tensor& k, const Tensor& v, int frames, int heads,
                     const Tensor& out) override;
  void over_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& count, int heads,
                 const Tensor& out) override;

 protected:
  [[nodiscard]] DenseKernel kernel() const noexcept { return kernel_; }
  [[nodiscard]] std::string kernel_name() const;
  [[nodiscard]] CudnnAttention& cudnn() noexcept { return *cudnn_; }

  /// One dense attention; `range` as in AttentionCall. By the portable kernel where the better one does not fit.
  void attend(const Tensor& q, const Tensor& k, const Tensor& v, int groups, int heads, std::int64_t keys,
              const std::int64_t* range, const Tensor& out);

  CudaBackend& backend_;
  DType dtype_;
  Workspace workspace_;

 private:
  DenseKernel kernel_ = DenseKernel::portable;
  std::unique_ptr<CudnnAttention> cudnn_;
  Workspace rows_workspace_;  ///< the camera head runs beside other work
};

/// Dense attention over the visible range, in place.
class SdpaCuda final : public CudaAttention {
 public:
  SdpaCuda(CudaBackend& backend, DType dtype, std::optional<DenseKernel> kernel = {});

  [[nodiscard]] AttentionKind kind() const noexcept override { return AttentionKind::sdpa; }
  [[nodiscard]] std::string description() const override { return "sdpa (" + kernel_name() + ")"; }
  [[nodiscard]] VisibleRange touched(const VisibleRange& range) const override;
  void plan(const TwoStreamCache& cache, std::int64_t queries) override;
  [[nodiscard]] std::uint64_t signature() const override { return signature_; }
  void run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) override;

 private:
  void run_cudnn(const Tensor& q, const Tensor& k, const Tensor& v, int heads, const Tensor& out);

  DeviceNumbers range_numbers_;  ///< {first row, rows}, then their lengths as int32 for cuDNN
  VisibleRange range_;
  std::uint64_t signature_ = 0;
};

}  // namespace lingbot_map::cuda
