#include "eval/eval_options.hpp"

#include <cmath>

#include "base/message.hpp"
#include "choices.hpp"
#include "flags.hpp"

namespace lingbot_map::tool {
namespace {

void require(bool holds, const char* flag, double found, const char* expected) {
  if (!holds) fail(ErrorCode::usage, flag, ": found ", found, ", expected ", expected);
}

/// Both of a pair of flags, or none of them.
void require_both(const std::string& one, const char* flag, const std::string& other, const char* other_flag) {
  if (one.empty() == other.empty()) return;
  fail(ErrorCode::usage, one.empty() ? other_flag : flag, ": found it without ", one.empty() ? flag : other_flag,
       ", expected both or none");
}

}  // namespace

void add_eval_flags(CLI::App& app, EvalOptions& options) {
  Flags flags(app);
  flags.group("Trajectory");
  flags.value("--estimate", options.estimate, "Trajectory to judge, or the folder of a run", "PATH");
  flags.value("--truth", options.truth, "True trajectory, or the folder of a scene", "PATH");
  flags.value("--format", options.format, "Of both trajectories; auto: by the number of words in a line",
              "auto|tum|kitti");
  flags.value("--align", options.align,
              "What is put right before errors are measured: place, direction and scale (sim3)", "sim3|se3|scale|none");
  flags.value("--max_time_difference", options.max_time_difference, "Between two poses of a pair (0.01)", "SECONDS");
  flags.value("--delta", options.delta, "Poses between the two ends of a relative pose (1)", "N");
  flags.flag("--all_pairs", options.all_pairs, "Relative poses from every pose, not only from every delta-th");
  flags.group("Depth");
  flags.value("--depth_estimate", options.depth_estimate, "Folder of depth maps to judge: .npz, .npy or 16-bit .png",
              "DIR");
  flags.value("--depth_truth", options.depth_truth, "Folder of true depth maps", "DIR");
  flags.value("--depth_scale", options.depth_scale,
              "What estimated depth is multiplied by: one number for all frames, one for each, or nothing",
              "sequence|frame|none");
  flags.value("--max_depth", options.max_depth, "Pixels that are truly further away do not count", "X");
  flags.value("--depth_estimate_factor", options.depth_estimate_factor,
              "What a depth of 1 is in the pictures of --depth_estimate (1000)", "X");
  flags.value("--depth_truth_factor", options.depth_truth_factor,
              "What a depth of 1 is in the pictures of --depth_truth (1000)", "X");
  flags.group("Output");
  flags.value("--json", options.json, "Write everything, frame by frame too, as JSON; - prints it instead of the table",
              "FILE|-");
  flags.value("--plot", options.plot, "Folder for trajectory.png, errors.png and depth.png; made if it is not there",
              "DIR");
}

EvalSettings settle(const EvalOptions& options) {
  require_both(options.estimate, "--estimate", options.truth, "--truth");
  require_both(options.depth_estimate, "--depth_estimate", options.depth_truth, "--depth_truth");
  if (options.estimate.empty() && options.depth_estimate.empty())
    fail(ErrorCode::usage,
         "eval: found nothing to judge; give --estimate and --truth, or --depth_estimate and "
         "--depth_truth");
  if (options.estimate.empty() && !options.plot.empty())
    fail(ErrorCode::usage, "--plot: found it without trajectories, which it draws; give --estimate and --truth");

  EvalSettings settings;
  settings.format = static_cast<TrajectoryFormat>(choice("--format", options.format, {"auto", "tum", "kitti"}));
  settings.trajectory.alignment =
      static_cast<Alignment>(choice("--align", options.align, {"sim3", "se3", "scale", "none"}));
  settings.depth.scale =
      static_cast<DepthScale>(choice("--depth_scale", options.depth_scale, {"sequence", "frame", "none"}));
  require(options.max_time_difference >= 0, "--max_time_difference", options.max_time_difference,
          "seconds of 0 or more");
  require_at_least_one("--delta", options.delta);
  if (options.max_depth) require(*options.max_depth > 0, "--max_depth", *options.max_depth, "a depth above 0");
  const auto is_factor = [](double value) { return std::isfinite(value) && value > 0; };
  require(is_factor(options.depth_estimate_factor), "--depth_estimate_factor", options.depth_estimate_factor,
          "a number above 0");
  require(is_factor(options.depth_truth_factor), "--depth_truth_factor", options.depth_truth_factor,
          "a number above 0");
  settings.trajectory.max_time_difference = options.max_time_difference;
  settings.trajectory.delta = options.delta;
  settings.trajectory.all_pairs = options.all_pairs;
  settings.depth.max_depth = options.max_depth;
  return settings;
}

}  // namespace lingbot_map::tool
