#pragma once

#include "lingbot_map/config.hpp"
#include "model/pass.hpp"
#include "model/weights.hpp"

namespace lingbot_map {

/// The whole network: encoder, aggregator and heads over one back end. Constant after construction.
class Network {
 public:
  Network(const Config& config, NetworkWeights weights) : config_(config), weights_(std::move(weights)) {}

  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] const NetworkWeights& weights() const noexcept { return weights_; }
  [[nodiscard]] bool has_points() const noexcept { return weights_.points.has_value(); }

  /// The constants of one frame size, on the back end's device.
  [[nodiscard]] SizeTables make_tables(Backend& backend, const FrameGrid& grid) const;
  /// Runs the frames of `pass`. The result lies in the pass's arena.
  [[nodiscard]] PassResult forward(Pass& pass) const;

 private:
  [[nodiscard]] std::array<Tensor, 4> allocate_taps(Pass& pass) const;
  void run_dense_heads(Pass& pass, const std::array<Tensor, 4>& taps, const PassResult& result) const;

  Config config_;
  NetworkWeights weights_;
};

}  // namespace lingbot_map
