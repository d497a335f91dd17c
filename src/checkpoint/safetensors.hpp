#pragma once

#include <memory>

#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// Metadata entry that carries the configuration of a network as JSON.
inline constexpr const char* kConfigMetadata = "lingbot_map.config";

/// Reads a safetensors file: 8 bytes of header length (little-endian), a JSON header, the elements. Every tensor's
/// bytes must match its dtype and shape, and all of them must cover the data without gap or overlap, as the format
/// demands. Throws Error(input) that names the tensor which does not.
[[nodiscard]] std::unique_ptr<Checkpoint> open_safetensors(File file);

}  // namespace lingbot_map
