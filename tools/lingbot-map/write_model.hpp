#pragma once

#include <filesystem>
#include <string>

#include "lingbot_map/types.hpp"

namespace lingbot_map::tool {

/// Reads "fp32", "bf16" or "fp16". Throws Error(usage) on anything else.
[[nodiscard]] DType stored_dtype(const std::string& name);

/// Throws Error(usage) unless `output` ends in .safetensors, and unless it is another file than `input` (empty: none).
void check_model_output(const std::filesystem::path& output, const std::filesystem::path& input);

}  // namespace lingbot_map::tool
