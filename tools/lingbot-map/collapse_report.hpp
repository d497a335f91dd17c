#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/json_fields.hpp"
#include "console.hpp"
#include "lingbot_map/collapse_watch.hpp"

namespace lingbot_map::tool {

/// What a run does when the reconstruction jumps: `--on_collapse`.
enum class OnCollapse : std::uint8_t {
  warn,   ///< says so and goes on
  reset,  ///< is cut before the frame, which begins a new window
  stop,   ///< ends with the frame before
};

/// "warn", "reset" or "stop". Throws Error(usage).
[[nodiscard]] OnCollapse on_collapse(const std::string& name);

/// What became of a frame that jumped.
enum class CollapseOutcome : std::uint8_t {
  taken,  ///< as it is, since nothing else was asked for
  cut,    ///< dropped, and computed again in a new window
  kept,   ///< as it is, although the run may be cut: the last cut was too near, or there is nothing before it
  ended,  ///< dropped: the run ends before it
};
[[nodiscard]] std::string_view name_of(CollapseOutcome outcome) noexcept;

/// A jump, and what became of it.
struct CollapseEvent {
  Collapse collapse;
  CollapseOutcome outcome = CollapseOutcome::taken;
};

/// What run.json tells of jumps.
struct CollapseSummary {
  std::int64_t jumps = 0;             ///< signs, of which a frame may have several
  std::vector<std::int64_t> cuts;     ///< frames before which the run was cut, ascending
  std::vector<CollapseEvent> events;  ///< the first kMostListed
  static constexpr std::size_t kMostListed = 1000;
};

/// Follows a run's results, tells people of jumps as they happen, and keeps them for the report.
///
/// With `reset` a jump asks for a cut, unless the last cut is no more than an overlap, or as many frames as the watch
/// takes to settle, before it: what jumps in the new window, too, is how things are. So a run ends whatever its frames
/// show, and computes none of them more than a few times.
class CollapseReport {
 public:
  /// `overlap`: frames that a cut computes again. `console` must outlive it.
  CollapseReport(Console& console, OnCollapse on_collapse, std::int64_t overlap);

  enum class Verdict : std::uint8_t {
    take,  ///< the result counts
    cut,   ///< the run is to be cut before this result, which comes again
    end,   ///< the run is to end before this one; then it takes no further result
  };
  /// Takes the next result. Without `can_cut` it never asks for a cut.
  [[nodiscard]] Verdict judge(const FrameResult& result, bool can_cut = true);

  /// Why the run ended; empty if it did not.
  [[nodiscard]] const std::string& end() const noexcept { return end_; }
  [[nodiscard]] const CollapseSummary& summary() const noexcept { return summary_; }
  [[nodiscard]] const CollapseWatch& watch() const noexcept { return watch_; }

  /// What is to be known beside the watch to go on.
  [[nodiscard]] nlohmann::ordered_json state() const;
  /// Goes on from a state() and the watch in a saved session. What was told then is kept for the report. Throws
  /// Error(input).
  void restore(const JsonFields& state, const std::filesystem::path& session_file);

 private:
  [[nodiscard]] CollapseOutcome outcome_at(std::int64_t frame, bool can_cut) const;
  [[nodiscard]] std::string line_of(const CollapseEvent& event) const;
  void note(const CollapseEvent& event);

  static constexpr std::int64_t kMostTold = 20;
  static constexpr const char* kTheRest = "further jumps are only counted in run.json";

  Console& console_;
  OnCollapse on_collapse_;
  std::int64_t least_between_cuts_;
  CollapseWatch watch_;
  CollapseSummary summary_;
  std::string end_;
};

/// A list with an object for each: frame, sign, found, usual, outcome.
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const CollapseEvent> events);

}  // namespace lingbot_map::tool
