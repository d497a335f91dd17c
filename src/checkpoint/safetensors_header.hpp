#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// What the JSON header of a safetensors file says. Nothing is held against the file's size yet.
struct SafetensorsHeader {
  struct Range {
    std::uint64_t begin = 0;  ///< bytes, from the end of the header
    std::uint64_t end = 0;
  };
  std::vector<TensorInfo> tensors;
  std::vector<Range> ranges;  ///< one for each tensor
  std::optional<std::string> config;
};

/// Throws Error(input) that begins with `source` on text that is no such header. Memory stays in proportion to the
/// text, however deeply it nests.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& source);

/// The format's name of a type: "F32", "BF16", ...
[[nodiscard]] std::string_view safetensors_name_of(DType dtype) noexcept;

}  // namespace lingbot_map
