#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lingbot_map/session.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map::tool {

// What words of the command line stand for. All throw Error(usage) that names the flag, what was found and what is
// expected.

/// The position of `value` among the allowed words.
[[nodiscard]] std::size_t choice(std::string_view flag, const std::string& value,
                                 std::initializer_list<std::string_view> allowed);
void require_at_least_one(std::string_view flag, std::int64_t value);
/// A whole number of `least` or more.
[[nodiscard]] std::int64_t whole_number(std::string_view flag, const std::string& text, std::int64_t least);
/// "a,b" as its parts, none of which may be empty.
[[nodiscard]] std::vector<std::string> list_of(std::string_view flag, const std::string& text);

struct FrameSize {
  int width = 0;   ///< pixels
  int height = 0;  ///< pixels

  [[nodiscard]] std::string text() const;
};
/// Reads the value of --size, "518x378".
[[nodiscard]] FrameSize frame_size(const std::string& text);

/// "auto" (a GPU where there is one), "cpu", "cuda" or "cuda:N".
[[nodiscard]] Device device_of(const std::string& text);
/// "auto" (unset), "fp32", "bf16" or "fp16".
[[nodiscard]] std::optional<DType> dtype_of(const std::string& text);
/// "auto", "sdpa" or "flashinfer". Throws Error(unsupported) for what the device cannot.
[[nodiscard]] AttentionKind attention_of(const std::string& text, Device device);

/// "cuda:0 (NVIDIA H200, driver 580.65)".
[[nodiscard]] std::string device_text(Device device);

}  // namespace lingbot_map::tool
