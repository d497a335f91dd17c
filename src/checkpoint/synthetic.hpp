#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// Fills `out` with the weights that the rule of docs/formats.md gives a tensor of this name and shape: the same bits
/// on every machine. `out` has the product of `shape` elements.
void synthetic_weights(std::string_view name, std::span<const std::int64_t> shape, std::uint64_t seed,
                       std::span<float> out);

/// A checkpoint of such weights, made as they are read: no file, no memory. `config_json` is what it carries.
[[nodiscard]] std::unique_ptr<Checkpoint> synthetic_checkpoint(std::vector<TensorInfo> tensors, std::uint64_t seed,
                                                               std::string config_json);

}  // namespace lingbot_map
