#pragma once

#include <cstddef>

namespace lingbot_map::tool {

/// Bytes of memory this process has now.
[[nodiscard]] std::size_t resident_bytes();
/// The most it ever had.
[[nodiscard]] std::size_t peak_resident_bytes();

}  // namespace lingbot_map::tool
