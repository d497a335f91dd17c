#pragma once

#include <memory>

#include "backend/backend.hpp"

namespace lingbot_map {

/// The back end of a device; `threads` is the CPU's, 0 for one a processor. Throws Error(unsupported) that says why a
/// device is not available.
[[nodiscard]] std::unique_ptr<Backend> make_backend(Device device, int threads);

}  // namespace lingbot_map
