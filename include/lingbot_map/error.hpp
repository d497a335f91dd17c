#pragma once

#include <stdexcept>
#include <string>

namespace lingbot_map {

/// What kind of failure an Error reports. The program maps `usage` to exit code 2 and every other code to 1.
enum class ErrorCode {
  usage,        ///< the caller asked for something that makes no sense (flags, option values, call order)
  input,        ///< a file or image that cannot be read, or does not hold what it should
  output,       ///< a file that cannot be written
  unsupported,  ///< well-formed, but not available in this build or on this machine
  resource,     ///< memory or address space ran out
  internal,     ///< a broken invariant of this library: a defect
};

/// The only exception type that this library throws on purpose. `what()` is one line that names the file, tensor or
/// option, what was found, what was expected, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace lingbot_map
