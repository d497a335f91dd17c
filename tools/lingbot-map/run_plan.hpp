#pragma once

#include <optional>

#include "console.hpp"
#include "lingbot_map/model.hpp"
#include "memory_plan.hpp"
#include "run_report.hpp"

namespace lingbot_map::tool {

/// Settles which frames a run keeps, and how they are cut into windows, when its number of frames is known as far as it
/// will be: fills in the keyframe interval of `report.session` (`interval`: the one asked for, if any) and the session
/// of `report.windowed`, and says so.
void choose_keyframes(RunReport& report, std::optional<int> interval, Console& console);

/// The session's options, once that is settled. A window that images cannot fill becomes as small as they fill it: its
/// memory is taken when the stream begins.
[[nodiscard]] SessionOptions stream_options(const RunReport& report);

/// The run that `report` tells of, as far as its memory goes.
[[nodiscard]] PlannedRun planned_run(const RunReport& report, const Model& model);
/// What that takes on the device.
[[nodiscard]] MemoryPlan memory_plan(const RunReport& report, const PlannedRun& run, const Model& model);

}  // namespace lingbot_map::tool
