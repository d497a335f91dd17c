#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// A tensor of a checkpoint, without its bytes.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape{};  ///< empty: a scalar

  [[nodiscard]] std::int64_t elements() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// "[3072, 1024]"
  [[nodiscard]] std::string shape_text() const;
};

/// Named tensors, wherever they come from. Opening reads names and shapes only; tensors are read one at a time, so that
/// a model is loaded in the memory of its weights and one tensor. All shapes and offsets were checked when it was
/// opened.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  /// Recognises the file by its content: a PyTorch zip archive or safetensors. Throws Error(input) that says what the
  /// file is instead (empty, a Git LFS pointer, a web page, an old non-zip .pt, ...) and what to do.
  [[nodiscard]] static std::unique_ptr<Checkpoint> open(const std::filesystem::path& path);

  [[nodiscard]] virtual const std::vector<TensorInfo>& tensors() const = 0;
  /// Null if there is no tensor of this name.
  [[nodiscard]] virtual const TensorInfo* find(std::string_view name) const = 0;
  /// Reads all elements, row-major, converted to float32. `out` has exactly info.elements() elements.
  virtual void read(const TensorInfo& info, std::span<float> out) const = 0;
  /// The configuration the file carries, as JSON; only safetensors files of ours have one.
  [[nodiscard]] virtual std::optional<std::string> config_json() const = 0;
  /// "PyTorch zip", "safetensors", "synthetic".
  [[nodiscard]] virtual std::string_view format() const = 0;
  /// What messages call it: the path, or "synthetic model".
  [[nodiscard]] virtual const std::string& source() const = 0;
  /// Entries beside the tensors that were skipped ("epoch", "args", ...).
  [[nodiscard]] virtual const std::vector<std::string>& ignored_entries() const = 0;
};

}  // namespace lingbot_map
