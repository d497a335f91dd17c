#pragma once

#include <sstream>
#include <string>

#include "lingbot_map/error.hpp"

namespace lingbot_map {

/// Concatenates values as text: `message("tensor ", name, ": found ", n)`.
template <typename... Parts>
[[nodiscard]] std::string message(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Throws Error(code) whose text is the concatenated parts.
template <typename... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

/// Throws Error(internal) when an invariant of this library does not hold; for mistakes of users, call fail().
template <typename... Parts>
void check(bool holds, const Parts&... parts) {
  if (!holds) [[unlikely]]
    fail(ErrorCode::internal, "internal error: ", parts...);
}

}  // namespace lingbot_map
