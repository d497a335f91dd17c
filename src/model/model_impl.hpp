#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "lingbot_map/model.hpp"
#include "model/network.hpp"

namespace lingbot_map {

/// What a Model handle refers to: a network and the back end that runs it.
class Model::Impl {
 public:
  Impl(std::unique_ptr<Backend> backend, Network network, DType dtype, int threads, std::vector<std::string> unexpected)
      : backend_(std::move(backend)),
        network_(std::move(network)),
        dtype_(dtype),
        threads_(threads),
        unexpected_(std::move(unexpected)) {}

  /// Sessions share it; its calls take turns.
  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] int threads() const noexcept { return threads_; }
  [[nodiscard]] const std::vector<std::string>& unexpected() const noexcept { return unexpected_; }

 private:
  std::unique_ptr<Backend> backend_;
  Network network_;
  DType dtype_;
  int threads_;
  std::vector<std::string> unexpected_;
};

}  // namespace lingbot_map
