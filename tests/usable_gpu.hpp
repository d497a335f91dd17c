#pragma once

#include "lingbot_map/device_info.hpp"
#include "lingbot_map/error.hpp"

namespace lingbot_map::test {

/// Whether this build and this machine have a GPU to test on.
inline bool usable_gpu() {
  try {
    (void)device_info(Device::cuda());
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace lingbot_map::test
