#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot_map {

/// Element types of tensors. `bf16` is the upper half of a float32; `f16` is IEEE binary16.
enum class DType : std::uint8_t { f32, f16, bf16, f64, i64, i32, i16, i8, u8, boolean };

/// Bytes of one element.
[[nodiscard]] std::size_t size_of(DType dtype) noexcept;
/// Short name as the command line writes it: "fp32", "bf16", "fp16", "u8", ...
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;

/// Where memory lives and work runs, as a value: `cpu` or `cuda:N`.
struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;

  [[nodiscard]] static constexpr Device cpu() noexcept { return {Kind::cpu, 0}; }
  [[nodiscard]] static constexpr Device cuda(int index = 0) noexcept { return {Kind::cuda, index}; }
  /// Reads "cpu", "cuda" or "cuda:N". Throws Error(usage) on anything else.
  [[nodiscard]] static Device parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

/// An RGB image in memory: uint8, row-major, channels last ([height, width, 3]), owned.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  ///< height * width * 3 bytes

  Image() = default;
  Image(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * h * 3) {}
  [[nodiscard]] bool empty() const noexcept { return pixels.empty(); }
};

}  // namespace lingbot_map
