#pragma once

#include <cstddef>
#include <optional>

namespace lingbot_map::tool {

/// Bytes of memory this process has now.
[[nodiscard]] std::size_t resident_bytes();
/// The most it ever had.
[[nodiscard]] std::size_t peak_resident_bytes();
/// What the machine could still give, swap included; nothing where the system does not say.
[[nodiscard]] std::optional<std::size_t> available_bytes();

}  // namespace lingbot_map::tool
