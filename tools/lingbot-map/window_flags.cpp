#include "window_flags.hpp"

#include <utility>

#include "base/message.hpp"
#include "choices.hpp"

namespace lingbot_map::tool {

void add_window_flags(Flags& flags, WindowFlags& place, const std::string& heading) {
  flags.group(heading);
  flags.value("--window_size", place.window_size, "Frames that a window keeps: scale frames and keyframes (64)", "N");
  flags.value("--overlap_size", place.overlap_size, "Frames in common with the window before (16)", "N");
  flags.value("--overlap_keyframes", place.overlap_keyframes, "The same in keyframes; wins", "N");
  flags.value("--window_alignment", place.window_alignment,
              "How windows are placed: by one camera and the median of depths (exact, the default) or by all points",
              "exact|robust");
}

WindowedOptions windowed_options(const WindowFlags& flags, const WindowedOptions& others) {
  WindowedOptions windowed = others;
  windowed.window_size = flags.window_size.value_or(windowed.window_size);
  windowed.overlap_size = flags.overlap_size.value_or(windowed.overlap_size);
  windowed.overlap_keyframes = flags.overlap_keyframes;
  require_at_least_one("--window_size", windowed.window_size);
  if (windowed.overlap_size < 0)
    fail(ErrorCode::usage, "--overlap_size: found ", windowed.overlap_size, ", expected 0 or more");
  if (windowed.overlap_keyframes) require_at_least_one("--overlap_keyframes", *windowed.overlap_keyframes);
  if (windowed.cuts && windowed.overlap_size == 0 && !windowed.overlap_keyframes)
    fail(
        ErrorCode::usage,
        "--on_collapse reset: --overlap_size is 0, but a new window is placed by the frames in common; give 1 or more");
  const std::size_t alignment =
      choice("--window_alignment", flags.window_alignment.value_or("exact"), {"exact", "robust"});
  windowed.alignment = alignment == 0 ? WindowAlignment::exact : WindowAlignment::robust;
  try {
    static_cast<void>(WindowedSession::extent(windowed));
  } catch (const Error& error) {
    fail(error.code(), windowed.endless ? "--on_collapse reset: " : "--mode windowed: ", error.what());
  }
  return windowed;
}

void require_no_window_flags(const WindowFlags& flags) {
  for (const auto& [flag, is_given] : {std::pair{"--window_size", flags.window_size.has_value()},
                                       std::pair{"--overlap_size", flags.overlap_size.has_value()},
                                       std::pair{"--overlap_keyframes", flags.overlap_keyframes.has_value()},
                                       std::pair{"--window_alignment", flags.window_alignment.has_value()}})
    if (is_given) fail(ErrorCode::usage, flag, ": found without --mode windowed; give both or none");
}

}  // namespace lingbot_map::tool
