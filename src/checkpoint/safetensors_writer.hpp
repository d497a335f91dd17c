#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// Writes tensors of a checkpoint, in the order given, as a safetensors file of one dtype (f32, f16 or bf16) whose
/// metadata carries the configuration. One tensor at a time is in memory; the file appears under its name when it is
/// complete. Throws Error(output) as FileWriter does, and Error(input) that names a tensor whose finite values do not
/// fit f16.
void write_safetensors(const Checkpoint& checkpoint, std::span<const TensorInfo> tensors, DType dtype,
                       const std::string& config_json, const std::filesystem::path& path);

}  // namespace lingbot_map
