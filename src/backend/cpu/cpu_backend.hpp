#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/kernels.hpp"
#include "base/thread_pool.hpp"

namespace lingbot_map {

/// The operations on the processor's cores. Matrix products and convolutions run on the project's own kernels: weights
/// are packed once, epilogues are fused, and the sums do not depend on the number of threads. With bf16 weights both
/// operands of a product are rounded to bf16 and summed in float32, by AVX-512 BF16 where the processor has it, else by
/// float32 arithmetic.
class CpuBackend final : public Backend {
 public:
  /// threads 0: one for each processor this process may use. `kernels` null: the best this processor has.
  explicit CpuBackend(int threads = 0, const cpu::Kernels* kernels = nullptr);

  [[nodiscard]] const cpu::Kernels& kernels() const noexcept { return kernels_; }
  [[nodiscard]] ThreadPool& threads() noexcept { return threads_; }

  [[nodiscard]] Device device() const noexcept override { return Device::cpu(); }
  [[nodiscard]] DType preferred_dtype() const noexcept override { return DType::f32; }
  [[nodiscard]] bool supports(DType dtype) const noexcept override {
    return dtype == DType::f32 || dtype == DType::bf16;
  }
  [[nodiscard]] int threads_used() const noexcept override { return threads_.size(); }
  [[nodiscard]] Buffer allocate(std::size_t bytes) override { return Buffer::allocate_cpu(bytes); }
  void upload(std::span<const std::byte> source, const Tensor& target) override;
  void download(const Tensor& source, std::span<std::byte> target) override;
  [[nodiscard]] GrowingMemoryMaker growing_memory() override;
  [[nodiscard]] std::unique_ptr<Transfer> make_transfer(std::size_t in_bytes, std::size_t out_bytes) override;
  void beside(const std::function<void()>& first, const std::function<void()>& second) override;
  [[nodiscard]] std::unique_ptr<Recording> record(const std::function<void()>&) override { return nullptr; }
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
  const cpu::Kernels& kernels_;
  ThreadPool threads_;
};

}  // namespace lingbot_map
