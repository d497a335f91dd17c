#pragma once

#include <cuda.h>

namespace lingbot_map::cuda {

using EncodeTensorMap = decltype(&cuTensorMapEncodeTiled);

/// The driver's cuTensorMapEncodeTiled, which describes a tensor to the copy engine (compute capability 9.0 and newer).
/// From the driver that is already loaded, so that nothing links it. Throws Error(internal) when it has none.
[[nodiscard]] EncodeTensorMap encode_tensor_map();

}  // namespace lingbot_map::cuda
