#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lingbot_map {

/// The name of one of many files, in whose order names sort up to a million: "frame_", 12, ".npz" is
/// "frame_000012.npz". `number`: 0 or more.
[[nodiscard]] std::string numbered_name(std::string_view prefix, std::int64_t number, std::string_view extension);

/// The number in such a name, of six digits or more; nothing for any other name.
[[nodiscard]] std::optional<std::int64_t> number_in_name(std::string_view name, std::string_view prefix,
                                                         std::string_view extension);

}  // namespace lingbot_map
