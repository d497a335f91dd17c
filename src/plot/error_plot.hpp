#pragma once

#include <string>

#include "evaluation/evaluate.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// A picture of the absolute errors of an aligned estimate over time (or over frames, where there is no time): of
/// translation above, of rotation below, each with its root mean square. `unit` is that of the truth.
[[nodiscard]] Image draw_errors(const TrajectoryEvaluation& evaluation, const std::string& unit = "m");

}  // namespace lingbot_map
