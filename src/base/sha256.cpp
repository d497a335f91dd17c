#include "base/sha256.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/sha256_blocks.hpp"

namespace lingbot_map {
namespace {

std::uint32_t big_endian(const std::byte* bytes) {
  return std::to_integer<std::uint32_t>(bytes[0]) << 24 | std::to_integer<std::uint32_t>(bytes[1]) << 16 |
         std::to_integer<std::uint32_t>(bytes[2]) << 8 | std::to_integer<std::uint32_t>(bytes[3]);
}

detail::Sha256Compress fastest() {
  static const detail::Sha256Compress by_instructions = detail::sha256_compress_by_instructions();
  return by_instructions != nullptr ? by_instructions : detail::sha256_compress;
}

}  // namespace

void detail::sha256_compress(std::array<std::uint32_t, 8>& state, const std::byte* data, std::size_t blocks) {
  using std::rotr;
  for (; blocks != 0; --blocks, data += 64) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(data + 4 * t);
    for (std::size_t t = 16; t < 64; ++t) {
      const std::uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const std::uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
      const std::uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
      const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kSha256Constants[t] + w[t];
      const std::uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
      const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1;
      d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> change = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += change[i];
  }
}

void Sha256::update(std::span<const std::byte> bytes) noexcept {
  const std::size_t held = bytes_ % block_.size();
  bytes_ += bytes.size();
  if (held != 0) {
    const std::size_t taken = std::min(block_.size() - held, bytes.size());
    std::copy_n(bytes.begin(), taken, block_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(taken);
    if (held + taken < block_.size()) return;
    fastest()(state_, block_.data(), 1);
  }
  const std::size_t blocks = bytes.size() / block_.size();
  fastest()(state_, bytes.data(), blocks);
  bytes = bytes.subspan(blocks * block_.size());
  std::copy(bytes.begin(), bytes.end(), block_.begin());
}

std::string Sha256::finish() {
  // A one bit, zeros up to eight bytes before the end of a block, and there the length in bits.
  const std::uint64_t bits = bytes_ * 8;
  std::array<std::byte, 72> padding{std::byte{0x80}};
  const std::size_t zeros = (block_.size() - 1 + block_.size() - 8 - bytes_ % block_.size()) % block_.size();
  for (std::size_t i = 0; i < 8; ++i) padding[1 + zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span(padding).first(1 + zeros + 8));

  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

std::optional<std::string> sha256_of_file(const std::filesystem::path& path, const std::stop_token& stop) {
  const File file = File::open(path);
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  Sha256 digest;
  for (std::uint64_t offset = 0; offset < file.size();) {
    if (stop.stop_requested()) return std::nullopt;
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), file.size() - offset));
    file.read(offset, piece);
    digest.update(piece);
    offset += piece.size();
  }
  return digest.finish();
}

}  // namespace lingbot_map
