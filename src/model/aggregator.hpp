#pragma once

#include <array>

#include "model/pass.hpp"

namespace lingbot_map {

/// Encoder and trunk: frame blocks and global blocks in turn. After each selected group, `taps` [frames * tokens, 2C]
/// float32 gets the frame block's output in its left half and the global block's in its right. Global attention writes
/// the frames' keys and values into the store and reads the planned range.
void aggregate(Pass& pass, const Config& config, const AggregatorWeights& weights, const std::array<Tensor, 4>& taps);

}  // namespace lingbot_map
