#include "checkpoint/safetensors_writer.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.hpp"
#include "base/little_endian.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/safetensors_header.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr float kLargestHalf = 65504.0F;

std::string header_of(std::span<const TensorInfo> tensors, DType dtype, const std::string& config_json) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{kConfigMetadata, config_json}};
  std::uint64_t offset = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::uint64_t end = offset + static_cast<std::uint64_t>(tensor.elements()) * size_of(dtype);
    header[tensor.name] = {
        {"dtype", safetensors_name_of(dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

void check_half(const TensorInfo& tensor, std::span<const float> values, const std::string& source) {
  for (const float value : values) {
    if (std::isfinite(value) && std::abs(value) >= kLargestHalf + 16) {
      fail(ErrorCode::input, source, ": tensor ", printable(tensor.name), " holds ", value,
           ", more than fp16 can: take bf16 or fp32");
    }
  }
}

}  // namespace

void write_safetensors(const Checkpoint& checkpoint, std::span<const TensorInfo> tensors, DType dtype,
                       const std::string& config_json, const std::filesystem::path& path) {
  check(dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16, "weights written as ", name_of(dtype));
  const std::string header = header_of(tensors, dtype, config_json);
  FileWriter file(path);
  std::string length;
  append_le(length, static_cast<std::uint64_t>(header.size()));
  file.write(length);
  file.write(header);
  for (const TensorInfo& tensor : tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    checkpoint.read(tensor, values);
    if (dtype == DType::f16) check_half(tensor, values, checkpoint.source());
    if (dtype == DType::f32) {
      file.write(std::as_bytes(std::span(values)));
      continue;
    }
    std::vector<std::byte> bytes(values.size() * size_of(dtype));
    convert_from_float(values, dtype, bytes);
    file.write(bytes);
  }
  file.commit();
}

}  // namespace lingbot_map
