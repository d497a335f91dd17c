#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "evaluation/depth_evaluation.hpp"
#include "evaluation/evaluate.hpp"

namespace lingbot_map::tool {

/// What was judged, and how it did.
struct EvalReport {
  nlohmann::ordered_json settings;
  std::optional<TrajectoryEvaluation> trajectory;
  std::optional<DepthEvaluation> depth;
  std::string depth_error;  ///< why depth that is there was not compared
};

/// As lines for people.
[[nodiscard]] std::string to_text(const EvalReport& report);
/// All of it, errors of every frame too. Numbers that are not finite become null.
[[nodiscard]] nlohmann::ordered_json to_json(const EvalReport& report);

}  // namespace lingbot_map::tool
