#pragma once

#include <string>

namespace lingbot_map {

/// "0.1.0"
[[nodiscard]] std::string version();
/// The commit the library was built from, or "unknown".
[[nodiscard]] std::string commit();
/// What was built in: instruction sets of the CPU kernels, CUDA or not, one per entry, comma separated.
[[nodiscard]] std::string build_features();

}  // namespace lingbot_map
