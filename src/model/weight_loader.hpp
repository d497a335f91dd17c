#pragma once

#include "checkpoint/checkpoint.hpp"
#include "lingbot_map/config.hpp"
#include "model/weights.hpp"

namespace lingbot_map {

/// Reads a checkpoint into the back end's layout, one tensor at a time: LayerScale folded into the projections in
/// float32 before rounding, convolutions turned into products over channels-last windows. `dtype` is the type of the
/// products of encoder and aggregator. The heads stay float32: with a bf16 depth head the depth error at the official
/// size was more than twice as large (docs/numerics.md). The checkpoint must have passed check_manifest().
[[nodiscard]] NetworkWeights load_weights(const Checkpoint& checkpoint, const Config& config, Backend& backend,
                                          DType dtype, bool point_head);

}  // namespace lingbot_map
