#include "write_model.hpp"

#include <charconv>
#include <system_error>

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
  if (input.empty()) return;
  // FileWriter first writes NAME.part, which may be what is left of an earlier run and now is to be read.
  for (const char* suffix : {"", ".part"}) {
    std::filesystem::path written = output;
    written += suffix;
    std::error_code none;
    if (std::filesystem::equivalent(written, input, none)) {
      fail(ErrorCode::usage, "--output ", output.string(), ": would overwrite ", input.string(),
           ", the file that is read; take another name");
    }
  }
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc{} || stop != end) {
    fail(ErrorCode::usage, "--seed ", text, ": expected a whole number from 0 to 18446744073709551615");
  }
  return seed;
}

}  // namespace lingbot_map::tool
