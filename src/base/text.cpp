#include "base/text.hpp"

#include <array>
#include <charconv>
#include <iomanip>
#include <sstream>

namespace lingbot_map {

std::string printable(std::string_view text, std::size_t limit) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
  return text.size() > limit ? out + "..." : out;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string shortest_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5; ++unit) value /= 1000;
  std::ostringstream out;
  out << std::fixed << std::setprecision(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) << value << ' ' << units[unit];
  return out.str();
}

}  // namespace lingbot_map
