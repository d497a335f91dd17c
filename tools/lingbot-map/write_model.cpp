#include "write_model.hpp"

#include "base/message.hpp"

namespace lingbot_map::tool {

DType stored_dtype(const std::string& name) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    if (name == name_of(dtype)) return dtype;
  }
  fail(ErrorCode::usage, "--dtype ", name, ": expected fp32, bf16 or fp16");
}

void check_model_output(const std::filesystem::path& output, const std::filesystem::path& input) {
  if (output.extension() != ".safetensors") {
    fail(ErrorCode::usage, "--output ", output.string(), ": expected a name that ends in .safetensors");
  }
  std::error_code none;
  if (!input.empty() && std::filesystem::equivalent(output, input, none)) {
    fail(ErrorCode::usage, "--output ", output.string(), ": is the file that is read; take another name");
  }
}

}  // namespace lingbot_map::tool
