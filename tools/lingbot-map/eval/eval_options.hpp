#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "evaluation/depth_evaluation.hpp"
#include "evaluation/evaluate.hpp"
#include "evaluation/trajectory_file.hpp"

namespace lingbot_map::tool {

/// The words of `eval` as they were typed.
struct EvalOptions {
  std::string estimate;
  std::string truth;
  std::string format = "auto";
  std::string align = "sim3";
  double max_time_difference = 0.01;
  int delta = 1;
  bool all_pairs = false;
  std::string depth_estimate;
  std::string depth_truth;
  std::string depth_scale = "sequence";
  std::optional<double> max_depth;
  double depth_estimate_factor = 1000;
  double depth_truth_factor = 1000;
  std::string json;
  std::string plot;
};

/// Their meaning, checked.
struct EvalSettings {
  TrajectoryFormat format = TrajectoryFormat::automatic;
  EvaluationOptions trajectory;
  DepthOptions depth;
};

void add_eval_flags(CLI::App& app, EvalOptions& options);
/// Throws Error(usage) that names the flag.
[[nodiscard]] EvalSettings settle(const EvalOptions& options);

}  // namespace lingbot_map::tool
