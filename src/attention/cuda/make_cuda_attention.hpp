#pragma once

#include <memory>

#include "attention/attention.hpp"

namespace lingbot_map::cuda {

/// make_attention() for a CUDA back end.
[[nodiscard]] std::unique_ptr<Attention> make_cuda_attention(Backend& backend, AttentionKind kind, DType dtype,
                                                             int heads);

}  // namespace lingbot_map::cuda
