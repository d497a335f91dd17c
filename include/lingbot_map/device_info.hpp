#pragma once

#include <cstddef>
#include <string>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// What a device is, and how its memory is used now.
struct DeviceInfo {
  std::string name;                 ///< "NVIDIA H200"; of the CPU, the processor's
  std::string driver;               ///< version of a GPU's driver; empty for the CPU
  std::size_t total_bytes = 0;      ///< memory it has; 0: not known
  std::size_t free_bytes = 0;       ///< what this process could still take; 0: not known
  std::size_t allocated_bytes = 0;  ///< what this library holds there; on the CPU, resident memory of the process
  std::size_t peak_bytes = 0;       ///< the most that allocated_bytes was since the process began
  int compute_capability = 0;       ///< of a GPU: 10 * major + minor; 0 for the CPU
};

/// Throws Error(unsupported) that says why a device is not available.
[[nodiscard]] DeviceInfo device_info(Device device);

/// The first GPU if this build can use one and there is one, else the CPU.
[[nodiscard]] Device default_device();

}  // namespace lingbot_map
