#include "lingbot_map/types.hpp"

#include <charconv>

#include "base/message.hpp"

namespace lingbot_map {

std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16: return 2;
    case DType::i8:
    case DType::u8:
    case DType::boolean: return 1;
  }
  return 0;
}

std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32: return "fp32";
    case DType::f16: return "fp16";
    case DType::bf16: return "bf16";
    case DType::f64: return "fp64";
    case DType::i64: return "i64";
    case DType::i32: return "i32";
    case DType::i16: return "i16";
    case DType::i8: return "i8";
    case DType::u8: return "u8";
    case DType::boolean: return "bool";
  }
  return "?";
}

Device Device::parse(std::string_view text) {
  if (text == "cpu") return cpu();
  if (text == "cuda") return cuda(0);
  if (text.starts_with("cuda:")) {
    int index = -1;
    const char* begin = text.data() + 5;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, index);
    if (error == std::errc{} && stop == end && index >= 0) return cuda(index);
  }
  fail(ErrorCode::usage, "device '", text, "': expected cpu, cuda or cuda:N");
}

std::string Device::to_string() const { return kind == Kind::cpu ? "cpu" : message("cuda:", index); }

}  // namespace lingbot_map
