#pragma once

namespace lingbot_map::cuda {

/// Throws Error(unsupported), naming the GPU and what this build holds, when none of its code runs on a GPU of this
/// compute capability.
void check_architecture(int device, const char* name, int major, int minor);

}  // namespace lingbot_map::cuda
