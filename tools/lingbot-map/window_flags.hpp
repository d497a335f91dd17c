#pragma once

#include <optional>
#include <string>

#include "flags.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map::tool {

/// What every command with --mode windowed can be asked for, as the command line has it; unset: not given.
struct WindowFlags {
  std::optional<int> window_size;
  std::optional<int> overlap_size;
  std::optional<int> overlap_keyframes;
  std::optional<std::string> window_alignment;  ///< "exact" or "robust"
};

/// Adds them under a heading of their own; parsing writes to `place`, which must outlive `flags`.
void add_window_flags(Flags& flags, WindowFlags& place);

/// The same in the library's terms, for windows of such sessions. Throws Error(usage) that names the flag, what was
/// found and what is expected, also where the options contradict each other.
[[nodiscard]] WindowedOptions windowed_options(const WindowFlags& flags, const SessionOptions& session);

}  // namespace lingbot_map::tool
