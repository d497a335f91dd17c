#pragma once

#include <map>
#include <span>
#include <string>

#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// Tells networks apart by what costs next to nothing beside loading them: the configuration, and of every tensor that
/// is loaded its name, its shape and up to 1,024 of its elements, spread evenly from the first to the last, as float32.
/// Training changes all elements, so that two networks with one fingerprint do not come about by themselves; the file
/// format, the device and the type of the products do not matter.
class Fingerprint {
 public:
  /// Takes a tensor as the checkpoint has it. The order of tensors does not matter.
  void add(const TensorInfo& tensor, std::span<const float> elements);
  /// SHA-256 of all that in hexadecimal.
  [[nodiscard]] std::string finish(const std::string& config_json) const;

 private:
  std::map<std::string, std::string> digests_;  ///< by name
};

}  // namespace lingbot_map
