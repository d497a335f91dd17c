#pragma once

#include "model/pass.hpp"

namespace lingbot_map {

/// DINOv2 on every frame: patches with positions, class token and registers through the blocks, the final norm of the
/// patch tokens into rows [first, first + patches) of every frame of `target`, float32 [frames, tokens, C].
void encode(Pass& pass, const Config& config, const EncoderWeights& weights, std::int64_t first, const Tensor& target);

}  // namespace lingbot_map
