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
void add_window_flags(Flags& flags, WindowFlags& place, const std::string& heading);

/// `others`, which are set already, and what the flags say. Throws Error(usage) that names the flag, what was found and
/// what is expected, also where the options contradict each other.
[[nodiscard]] WindowedOptions windowed_options(const WindowFlags& flags, const WindowedOptions& others);

/// For a command without windows: throws Error(usage) that names the first flag that is given.
void require_no_window_flags(const WindowFlags& flags);

}  // namespace lingbot_map::tool
