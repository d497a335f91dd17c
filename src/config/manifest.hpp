#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "lingbot_map/config.hpp"

namespace lingbot_map {

/// Every tensor that a network of this configuration has, named and shaped as in the public state dict, float32, in the
/// order of the parts: aggregator (encoder, frame blocks, global blocks, tokens), camera head, depth head, point head.
[[nodiscard]] std::vector<TensorInfo> manifest(const Config& config);

/// The configuration of a checkpoint: the one it carries, else what its tensor shapes tell. Throws Error(input) that
/// names the tensor that is missing or contradicts, or the flag --config when the shapes cannot tell.
[[nodiscard]] Config infer_config(const Checkpoint& checkpoint);

/// The same with what a user adds by --config: "official", "tiny", or the path of a JSON file whose keys win over what
/// the checkpoint says.
[[nodiscard]] Config infer_config(const Checkpoint& checkpoint, const std::string& name_or_file);

/// "official", "tiny", or the path of a JSON file, in which missing keys have the official value.
[[nodiscard]] Config load_config(const std::string& name_or_file);

/// What of a checkpoint does not fit a configuration.
struct ManifestDifference {
  std::vector<std::string> missing;      ///< names that the network needs and the file lacks
  std::vector<std::string> wrong_shape;  ///< one text each: name, found, expected
  std::vector<std::string> unexpected;   ///< names that the network does not use
};
[[nodiscard]] ManifestDifference compare_manifest(const Checkpoint& checkpoint, const Config& config);

/// Throws Error(input) that names every missing tensor (the first few of many) and the first one of a wrong shape, with
/// what was found and expected. Returns the names that the network does not use.
[[nodiscard]] std::vector<std::string> check_manifest(const Checkpoint& checkpoint, const Config& config);

}  // namespace lingbot_map
