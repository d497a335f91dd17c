#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace lingbot_map {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces. Uses the processor's SHA instructions where it has them.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes) noexcept;
  /// The digest as 64 lower-case hexadecimal digits. Nothing may be added afterwards.
  [[nodiscard]] std::string finish();

 private:
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t bytes_ = 0;
};

/// The digest of a file's content, in hexadecimal; nothing if `stop` asked to give up before the end. Holds one
/// mebibyte of the file at a time. Throws Error(input) when the file cannot be read.
[[nodiscard]] std::optional<std::string> sha256_of_file(const std::filesystem::path& path,
                                                        const std::stop_token& stop = {});

}  // namespace lingbot_map
