#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fields.hpp"
#include "export/writer_state.hpp"
#include "input_frames.hpp"
#include "run_report.hpp"

namespace lingbot_map::tool {

/// What a run must know beside its session to go on after one of its results.
struct SavedRun {
  nlohmann::ordered_json identity;    ///< identity_of() the run
  InputPosition position;             ///< of the last frame with a result
  std::vector<std::string> left_out;  ///< why frames up to there were left out, a line each
  RunReport::Counts counts;
  RunReport::Seconds seconds;
  StageTimes stages;
  std::optional<SkyReport> sky;  ///< its counts and times
  std::string start;
  nlohmann::ordered_json collapses;  ///< CollapseReport::state()
  WriterState output;
};

[[nodiscard]] nlohmann::ordered_json to_json(const SavedRun& run);
/// Throws Error(input) for what to_json() does not give.
[[nodiscard]] SavedRun saved_run_of(const JsonFields& fields);

/// The part of a run.json that tells one run from another: program, settings, model and input.
[[nodiscard]] nlohmann::ordered_json identity_of(const nlohmann::ordered_json& report);

/// Throws unless `here` may go on with, or is, the run that `saved` tells of: Error(usage) that names the first flag
/// with another value, Error(input) for another model or input. `source` names the file that it was saved in. Flags
/// that only say where things are and where they are computed may differ.
void require_same_run(const nlohmann::ordered_json& saved, const nlohmann::ordered_json& here,
                      const std::string& source);

/// What differs and may change the last bits of what follows, in a line; empty if nothing.
[[nodiscard]] std::string numeric_differences(const nlohmann::ordered_json& saved, const nlohmann::ordered_json& here);

}  // namespace lingbot_map::tool
