#pragma once

#include <array>

#include "model/pass.hpp"

namespace lingbot_map {

/// The DPT head on one frame: patch tokens of four taps, float32 [patches, 2C] each, to a map `out`, float32 [height,
/// width, outputs], before its final activation.
void run_dpt(Pass& pass, const DptWeights& weights, const std::array<Tensor, 4>& taps, const Tensor& out);

}  // namespace lingbot_map
