#include "choices.hpp"

#include <algorithm>
#include <charconv>

#include "base/message.hpp"
#include "lingbot_map/device_info.hpp"

namespace lingbot_map::tool {

std::size_t choice(std::string_view flag, const std::string& value, std::initializer_list<std::string_view> allowed) {
  std::size_t position = 0;
  std::string names;
  for (const std::string_view name : allowed) {
    if (value == name) return position;
    names += position == 0 ? "" : position + 1 == allowed.size() ? " or " : ", ";
    names += name;
    ++position;
  }
  fail(ErrorCode::usage, flag, ": found \"", value, "\", expected ", names);
}

void require_at_least_one(std::string_view flag, std::int64_t value) {
  if (value < 1) fail(ErrorCode::usage, flag, ": found ", value, ", expected 1 or more");
}

std::int64_t whole_number(std::string_view flag, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least)
    fail(ErrorCode::usage, flag, ": found \"", text, "\", expected a whole number of ", least, " or more");
  return value;
}

std::vector<std::string> list_of(std::string_view flag, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    if (parts.back().empty())
      fail(ErrorCode::usage, flag, ": found \"", text, "\", expected values with a comma between two of them");
    start = end + 1;
  }
  return parts;
}

std::string FrameSize::text() const { return message(width, "x", height); }

FrameSize frame_size(const std::string& text) {
  constexpr int largest_side = 16384;
  const auto in_range = [](int side) { return side >= 1 && side <= largest_side; };
  const char* end = text.data() + text.size();
  FrameSize size;
  const auto [cross, wrong_width] = std::from_chars(text.data(), end, size.width);
  if (wrong_width == std::errc{} && cross != end && *cross == 'x') {
    const auto [stop, wrong_height] = std::from_chars(cross + 1, end, size.height);
    if (wrong_height == std::errc{} && stop == end && in_range(size.width) && in_range(size.height)) return size;
  }
  fail(ErrorCode::usage, "--size: found \"", text, "\", expected WIDTHxHEIGHT in pixels, as 518x378");
}

Device device_of(const std::string& text) {
  if (text == "auto") return default_device();
  try {
    return Device::parse(text);
  } catch (const Error&) {
    fail(ErrorCode::usage, "--device: found \"", text, "\", expected auto, cpu, cuda or cuda:N");
  }
}

std::optional<DType> dtype_of(const std::string& text) {
  switch (choice("--dtype", text, {"auto", "fp32", "bf16", "fp16"})) {
    case 1: return DType::f32;
    case 2: return DType::bf16;
    case 3: return DType::f16;
    default: return std::nullopt;
  }
}

AttentionKind attention_of(const std::string& text, Device device) {
  const auto kind = static_cast<AttentionKind>(choice("--backend", text, {"auto", "sdpa", "flashinfer"}));
  if (kind == AttentionKind::flashinfer && device.kind == Device::Kind::cpu)
    fail(ErrorCode::unsupported, "--backend: found flashinfer, which runs on a GPU only; use sdpa or auto on the CPU");
  return kind;
}

std::string device_text(Device device) {
  const DeviceInfo info = device_info(device);
  return message(device.to_string(), " (", info.name, info.driver.empty() ? "" : ", driver ", info.driver, ")");
}

}  // namespace lingbot_map::tool
