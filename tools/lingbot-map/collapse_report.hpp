#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "console.hpp"
#include "lingbot_map/collapse_watch.hpp"

namespace lingbot_map::tool {

/// What a run does when the reconstruction jumps: `--on_collapse`.
enum class OnCollapse : std::uint8_t {
  warn,  ///< says so and goes on
  stop,  ///< ends with the frame before
};

/// "warn" or "stop". Throws Error(usage).
[[nodiscard]] OnCollapse on_collapse(const std::string& name);

/// Follows a run's results, tells people of jumps as they happen, and keeps them for the report.
class CollapseReport {
 public:
  CollapseReport(Console& console, OnCollapse on_collapse) : console_(console), on_collapse_(on_collapse) {}

  /// Takes the next result. False when the run is to end before this one; then it takes no further result.
  [[nodiscard]] bool go_on_with(const FrameResult& result);
  /// Why the run ended; empty if it did not.
  [[nodiscard]] const std::string& end() const noexcept { return end_; }
  [[nodiscard]] const std::vector<Collapse>& all() const noexcept { return all_; }

 private:
  static constexpr std::size_t kMostTold = 20;

  Console& console_;
  OnCollapse on_collapse_;
  CollapseWatch watch_;
  std::vector<Collapse> all_;
  std::string end_;
};

/// A list with an object for each: frame, sign, found, usual.
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const Collapse> collapses);

}  // namespace lingbot_map::tool
