#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "command.hpp"
#include "eval/depth_files.hpp"
#include "eval/eval_options.hpp"
#include "eval/eval_report.hpp"
#include "eval/pictures.hpp"
#include "export/json_file.hpp"

namespace lingbot_map::tool {
namespace {

using Path = std::filesystem::path;

bool is_folder(const Path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// The first of these names that is in the folder.
std::optional<Path> find_in(const Path& folder, const std::vector<std::string>& names) {
  std::error_code ignored;
  for (const std::string& name : names)
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  return std::nullopt;
}

/// A trajectory's file: the path itself, or in a folder that of a run or a scene.
Path trajectory_path(const Path& path, TrajectoryFormat format, bool is_truth) {
  if (!is_folder(path)) return path;
  std::vector<std::string> names = {"trajectory.txt", "groundtruth.txt"};
  if (is_truth) std::swap(names[0], names[1]);
  if (format == TrajectoryFormat::kitti) names = {"poses_kitti.txt", "poses.txt"};
  if (const auto found = find_in(path, names)) return *found;
  fail(ErrorCode::input, path.string(), ": found neither ", names[0], " nor ", names[1],
       " in the folder, expected one; or name the file");
}

/// The depth of a run or a scene: of a run its predictions first, which are exact.
std::optional<Path> depth_folder(const std::string& explicit_folder, const Path& beside) {
  if (!explicit_folder.empty()) return Path(explicit_folder);
  if (!is_folder(beside)) return std::nullopt;
  return find_in(beside, {"predictions", "depth"});
}

DepthMap read_depth(const DepthFile& file, double factor) {
  return file.path.extension() == ".png" ? read_depth_picture(file.path, factor) : read_depth_array(file.path);
}

class Eval {
 public:
  explicit Eval(EvalOptions options) : options_(std::move(options)), settings_(settle(options_)) {}

  void execute() {
    if (!options_.plot.empty()) require_plots();
    describe_settings();
    if (!options_.estimate.empty()) judge_trajectory();
    judge_depth();
    print();
  }

 private:
  void describe_settings() {
    nlohmann::ordered_json& json = report_.settings;
    json["align"] = options_.align;
    json["max_time_difference"] = options_.max_time_difference;
    json["delta"] = options_.delta;
    json["all_pairs"] = options_.all_pairs;
    json["depth_scale"] = options_.depth_scale;
    json["max_depth"] = nullptr;
    if (options_.max_depth) json["max_depth"] = *options_.max_depth;
  }

  void judge_trajectory() {
    const Path estimate = trajectory_path(options_.estimate, settings_.format, false);
    const Path truth = trajectory_path(options_.truth, settings_.format, true);
    report_.settings["estimate"] = estimate.string();
    report_.settings["truth"] = truth.string();
    estimate_ = read_trajectory(estimate, settings_.format);
    truth_ = read_trajectory(truth, settings_.format);
    report_.trajectory = evaluate(*estimate_, *truth_, settings_.trajectory);
  }

  /// Depth that was not asked for, but lies beside the trajectories, must not cost their result.
  void judge_depth() {
    const bool asked_for = !options_.depth_estimate.empty();
    try {
      compare_depth();
    } catch (const Error& error) {
      if (asked_for || error.code() == ErrorCode::internal) throw;
      report_.depth_error = error.what();
      std::fprintf(stderr, "lingbot-map: warning: depth is not compared: %s\n", error.what());
    }
  }

  void compare_depth() {
    const std::optional<Path> estimate = depth_folder(options_.depth_estimate, options_.estimate);
    const std::optional<Path> truth = depth_folder(options_.depth_truth, options_.truth);
    if (!estimate || !truth) return;
    report_.settings["depth_estimate"] = estimate->string();
    report_.settings["depth_truth"] = truth->string();
    const std::vector<DepthFilePair> files =
        pair_depth_files(list_depth_files(*estimate), estimate_ ? &*estimate_ : nullptr, list_depth_files(*truth),
                         truth_ ? &*truth_ : nullptr, options_.max_time_difference);
    const auto load = [&](std::size_t i) {
      const DepthFilePair& pair = files[i];
      return DepthPair{pair.estimate.path.string() + " against " + pair.truth.path.string(),
                       static_cast<std::int64_t>(pair.estimate.is_time ? i : pair.estimate.number),
                       read_depth(pair.estimate, options_.depth_estimate_factor),
                       read_depth(pair.truth, options_.depth_truth_factor)};
    };
    report_.depth = evaluate_depth(files.size(), load, settings_.depth);
    if (!options_.plot.empty()) write_depth_plot(options_.plot, *report_.depth, load);
  }

  void print() const {
    const nlohmann::ordered_json json = to_json(report_);
    const std::string text = options_.json == "-"
                                 ? json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n'
                                 : to_text(report_);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!options_.json.empty() && options_.json != "-") write_json(options_.json, json);
    if (!options_.plot.empty()) write_plots(options_.plot, *report_.trajectory);
  }

  EvalOptions options_;
  EvalSettings settings_;
  EvalReport report_;
  std::optional<Trajectory> estimate_;
  std::optional<Trajectory> truth_;
};

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("eval", "How good an estimated trajectory, and depth, are against a known truth.");
  const auto options = std::make_shared<EvalOptions>();
  add_eval_flags(*command, *options);
  command->callback([options] { Eval(*options).execute(); });
}

}  // namespace lingbot_map::tool
