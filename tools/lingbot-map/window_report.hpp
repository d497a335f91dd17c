#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "console.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map::tool {

/// Tells people of windows as they are placed: each one if verbose, and a warning for one that has no place or stands
/// out.
class WindowReport {
 public:
  explicit WindowReport(Console& console) : console_(console) {}

  /// Takes the windows of an earlier process as told; their warnings are kept for the report.
  void remember(std::span<const WindowRecord> windows);
  /// Tells of the windows that are new in this list, which only grows.
  void tell(std::span<const WindowRecord> windows);

 private:
  Console& console_;
  std::size_t told_ = 1;  ///< the first one has no place to be told
};

/// "window 3 from frame 96: 16 frames in common, scale 1.02, depth differs by 1.3 %, cameras by 0.012 and 0.4 degrees"
[[nodiscard]] std::string window_text(std::size_t number, const WindowRecord& window);
/// What is wrong with a window, a line each; empty if nothing is.
[[nodiscard]] std::vector<std::string> window_warnings(std::size_t number, const WindowRecord& before,
                                                       const WindowRecord& window);
/// A list with an object for each window.
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const WindowRecord> windows);

}  // namespace lingbot_map::tool
