#include "export/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace lingbot_map {
namespace {

void append(std::string& text, double number, std::chars_format format) {
  std::array<char, 400> digits{};  // the largest double has 309 digits before its point
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number, format, 9);
  text.append(digits.data(), result.ptr);
}

}  // namespace

void append_number(std::string& text, double number) {
  // The sign of NaN means nothing, and whether "-nan" is written would depend on how it arose.
  append(text, std::isnan(number) ? std::abs(number) : number, std::chars_format::general);
}

void append_seconds(std::string& text, double seconds) { append(text, seconds, std::chars_format::fixed); }

}  // namespace lingbot_map
