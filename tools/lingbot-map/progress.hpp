#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "console.hpp"

namespace lingbot_map::tool {

/// The progress line: "120/500 frames, 3.42 frames/s, 120 kept, 1.21 GB of memory". Redrawn a few times a second at
/// most, and only where there is a terminal.
class Progress {
 public:
  /// `expected`: frames in all, if known; `first`: frames of an earlier process, which the rate leaves out.
  Progress(Console& console, std::optional<std::int64_t> expected, std::int64_t first = 0)
      : console_(console), expected_(expected), first_(first) {}

  /// `frames` results so far, of which the cache kept `kept`.
  void update(std::int64_t frames, std::int64_t kept);

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  std::optional<std::int64_t> expected_;
  std::int64_t first_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> drawn_;
};

/// The text of the line.
[[nodiscard]] std::string progress_line(std::int64_t frames, std::optional<std::int64_t> expected,
                                        const std::string& rate, std::int64_t kept, std::size_t memory);

/// "3.42 frames/s"; from 100 on without decimals.
[[nodiscard]] std::string rate_text(std::int64_t frames, double seconds);

}  // namespace lingbot_map::tool
