#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lingbot_map/types.hpp"

namespace lingbot_map::tool {

/// Reads "fp32", "bf16" or "fp16". Throws Error(usage) on anything else.
[[nodiscard]] DType stored_dtype(const std::string& name);

/// Reads a whole number from 0 on. Throws Error(usage) on anything else.
[[nodiscard]] std::uint64_t seed_of(const std::string& text);

/// Throws Error(usage) unless `output` ends in .safetensors, and unless writing it leaves `input` (empty: none) as it
/// is.
void check_model_output(const std::filesystem::path& output, const std::filesystem::path& input);

}  // namespace lingbot_map::tool
