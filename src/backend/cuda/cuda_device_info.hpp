#pragma once

#include "lingbot_map/device_info.hpp"

namespace lingbot_map::cuda {

/// device_info() of a GPU. Throws Error(unsupported) when there is none of this number.
[[nodiscard]] DeviceInfo cuda_device_info(int device);

}  // namespace lingbot_map::cuda
