#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lingbot_map/config.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map {

struct ModelOptions {
  Device device = Device::cpu();
  /// Type of weights and of matrix products; unset: fp32 on the CPU, bf16 on a GPU of compute capability 8 or more.
  std::optional<DType> dtype{};
  /// Threads of the CPU back end; 0: one for each processor this process may use.
  int threads = 0;
  /// For files that carry no configuration and whose shapes do not tell it.
  std::optional<Config> config{};
  /// Loads the point head where the file has one; then every result has world points.
  bool point_head = true;
};

/// The network's weights on a device: constant once loaded, and shared by any number of sessions. A cheap handle:
/// copies refer to the same weights, which live until the last handle or session goes.
class Model {
 public:
  /// Reads a .pt or .safetensors file, one tensor at a time. Throws Error(input) naming the file, what was found and
  /// what was expected; Error(unsupported) for a device or dtype this build or machine lacks.
  [[nodiscard]] static Model load(const std::filesystem::path& path, const ModelOptions& options = {});
  /// The same network with weights made by the rule of docs/formats.md from a seed, without a file.
  [[nodiscard]] static Model synthetic(const Config& config, std::uint64_t seed, const ModelOptions& options = {});

  [[nodiscard]] const Config& config() const noexcept;
  [[nodiscard]] Device device() const noexcept;
  [[nodiscard]] DType dtype() const noexcept;
  [[nodiscard]] int threads() const noexcept;
  /// Bytes that the weights take on the device.
  [[nodiscard]] std::size_t weight_bytes() const noexcept;
  /// 64 hexadecimal digits that tell networks apart: equal for the same configuration and weights, whatever file they
  /// came from and whatever the device and dtype. Made of every tensor's shape and samples of its elements.
  [[nodiscard]] const std::string& fingerprint() const noexcept;
  /// Names in the file that the network does not use.
  [[nodiscard]] const std::vector<std::string>& unexpected_tensors() const noexcept;

  class Impl;
  [[nodiscard]] const std::shared_ptr<const Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace lingbot_map
