#include "base/numbered_name.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kDigits = 6;

}  // namespace

std::string numbered_name(std::string_view prefix, std::int64_t number, std::string_view extension) {
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return message(prefix, digits, extension);
}

std::optional<std::int64_t> number_in_name(std::string_view name, std::string_view prefix, std::string_view extension) {
  if (name.size() < prefix.size() + kDigits + extension.size() || !name.starts_with(prefix) ||
      !name.ends_with(extension)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - extension.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace lingbot_map
