#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// The tensors of a checkpoint in the order of its file, with a way from a name to its place.
class TensorList {
 public:
  /// Throws Error(input) when two tensors have one name; `source` is what the message calls the file.
  TensorList(std::vector<TensorInfo> tensors, const std::string& source);

  [[nodiscard]] const std::vector<TensorInfo>& all() const noexcept { return tensors_; }
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view name) const noexcept;
  [[nodiscard]] const TensorInfo* find(std::string_view name) const noexcept;
  /// The place of a tensor that the caller got from this list and is about to read `elements` elements of; a mismatch
  /// is a defect of the caller and throws Error(internal).
  [[nodiscard]] std::size_t checked_index(const TensorInfo& info, std::size_t elements) const;

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<std::size_t> by_name_;
};

}  // namespace lingbot_map
