#pragma once

#include <cuda_runtime_api.h>

namespace lingbot_map::cuda {

/// Throws Error(resource) when the device is out of memory and Error(internal) on any other failure, naming what was
/// being done.
void check_cuda(cudaError_t result, const char* what);

/// check_cuda() for the kernel launched last.
void check_launch(const char* kernel);

}  // namespace lingbot_map::cuda
