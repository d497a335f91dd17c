#pragma once

#include "attention/attention.hpp"
#include "backend/backend.hpp"

namespace lingbot_map {

/// A back end that does nothing: a forward pass over it, with an arena that has no memory, tells what the pass will
/// take.
class MeasuringBackend final : public Backend {
 public:
  [[nodiscard]] Device device() const noexcept override { return Device::cpu(); }
  [[nodiscard]] DType preferred_dtype() const noexcept override { return DType::f32; }
  [[nodiscard]] bool supports(DType) const noexcept override { return true; }
  [[nodiscard]] int threads_used() const noexcept override { return 0; }
  [[nodiscard]] Buffer allocate(std::size_t bytes) override;
  void upload(std::span<const std::byte>, const Tensor&) override {}
  void download(const Tensor&, std::span<std::byte>) override {}
  [[nodiscard]] GrowingMemoryMaker growing_memory() override;
  [[nodiscard]] std::unique_ptr<Transfer> make_transfer(std::size_t, std::size_t) override { return nullptr; }
  void beside(const std::function<void()>& first, const std::function<void()>& second) override {
    first();
    second();
  }
  [[nodiscard]] std::unique_ptr<Recording> record(const std::function<void()>&) override { return nullptr; }
  void replay(const Recording&) override {}
  [[nodiscard]] std::unique_ptr<StageClock> make_clock() override { return nullptr; }
  [[nodiscard]] std::shared_ptr<const Matrix> pack(std::span<const float>, std::int64_t, std::int64_t,
                                                   Precision) override {
    return {};
  }
  void embed_patches(const Tensor&, int, const Linear&, const Tensor&, std::int64_t, const Tensor&) override {}
  void copy(const Tensor&, const Tensor&) override {}
  void clear(const Tensor&) override {}
  void layer_norm(const Tensor&, const Norm&, const Tensor&) override {}
  void linear(const Tensor&, const Linear&, Activation, const Tensor&) override {}
  void split_heads(const Tensor&, std::int64_t, const HeadSplit&, const Tensor&, const KeyValueTarget&) override {}
  void silu(const Tensor&, const Tensor&) override {}
  void modulate(const Tensor&, const Tensor&, const Tensor&) override {}
  void convolve(const Tensor&, const Convolution&, Activation, const Tensor&) override {}
  void relu(const Tensor&) override {}
  void add(const Tensor&, const Tensor&) override {}
  void add_positions(const Tensor&, const Tensor&, const Tensor&) override {}
  void resize(const Tensor&, const Tensor&) override {}
  void depth_to_space(const Tensor&, std::int64_t, std::int64_t, int, const Tensor&) override {}
  void depth_outputs(const Tensor&, const Tensor&, const Tensor&) override {}
  void point_outputs(const Tensor&, const Tensor&, const Tensor&) override {}
};

/// The attention that goes with it.
class MeasuringAttention final : public Attention {
 public:
  [[nodiscard]] AttentionKind kind() const noexcept override { return AttentionKind::automatic; }
  void within_frames(const Tensor&, const Tensor&, const Tensor&, int, int, const Tensor&) override {}
  void plan(const TwoStreamCache&, std::int64_t) override {}
  void run(const KvStore&, int, const Tensor&, int, const Tensor&) override {}
  void over_rows(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int, const Tensor&) override {}
};

}  // namespace lingbot_map
