#include "eval/eval_report.hpp"

#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "lingbot_map/version.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<double ErrorStatistics::*, 7> kStatistics = {
    &ErrorStatistics::rmse, &ErrorStatistics::mean, &ErrorStatistics::median, &ErrorStatistics::std,
    &ErrorStatistics::min,  &ErrorStatistics::max,  &ErrorStatistics::sse};
constexpr std::array<const char*, 7> kStatisticNames = {"rmse", "mean", "median", "std", "min", "max", "sse"};

/// Lines of text with numbers in the classic locale.
class Lines {
 public:
  Lines() { out_.imbue(std::locale::classic()); }

  void head(const std::string& title, std::span<const char* const> columns) {
    out_ << std::left << std::setw(kNameWidth) << title << std::right;
    for (const char* column : columns) out_ << std::setw(kNumberWidth) << column;
    out_ << '\n';
  }
  void row(const std::string& name, const ErrorStatistics& statistics) {
    out_ << std::left << std::setw(kNameWidth) << ("  " + name) << std::right;
    for (const auto statistic : kStatistics) out_ << std::setw(kNumberWidth) << number(statistics.*statistic);
    out_ << '\n';
  }
  template <typename... Parts>
  void line(const std::string& name, const Parts&... parts) {
    out_ << std::left << std::setw(kNameWidth) << ("  " + name) << std::right << "  ";
    (out_ << ... << parts);
    out_ << '\n';
  }
  /// Five significant digits.
  static std::string number(double value) {
    if (std::isnan(value)) return "-";
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::setprecision(5) << value;
    return text.str();
  }
  static std::string fixed(double value, int decimals) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::fixed << std::setprecision(decimals) << value;
    return text.str();
  }
  void blank() { out_ << '\n'; }
  [[nodiscard]] std::string str() const { return out_.str(); }

 private:
  static constexpr int kNameWidth = 26;
  static constexpr int kNumberWidth = 12;
  std::ostringstream out_;
};

void add_trajectory(Lines& lines, const TrajectoryEvaluation& found) {
  lines.head("trajectory", kStatisticNames);
  lines.row("ATE (m)", found.ate);
  lines.row("ATE rotation (deg)", found.ate_rotation);
  lines.row("orientation (deg)", found.orientation);
  lines.row("RPE (m)", found.rpe);
  lines.row("RPE rotation (deg)", found.rpe_rotation);
  lines.line("poses", found.poses.size(), " pairs of ", found.estimate_poses, " estimated and ", found.truth_poses,
             " true ones; ", found.relative_poses, " relative poses");
  lines.line("pose AUC", "at 5 deg ", Lines::fixed(found.auc.at_5, 4), ", at 15 deg ", Lines::fixed(found.auc.at_15, 4),
             ", at 30 deg ", Lines::fixed(found.auc.at_30, 4));
  lines.line("path length", Lines::number(found.truth_length), " m (aligned estimate ",
             Lines::number(found.estimate_length), " m)");
  lines.line("ATE / path length", Lines::number(found.ate_percent), " %");
  lines.line("drift, start to end", Lines::number(found.drift_percent), " % of the path length, ",
             Lines::number(found.drift_degrees), " deg");
  lines.line("alignment scale", Lines::number(found.truth_from_estimate.scale));
}

void add_depth(Lines& lines, const DepthEvaluation& found) {
  constexpr std::array kColumns = {"AbsRel", "RMSE (m)", "d < 1.25", "d < 1.25^2", "d < 1.25^3"};
  lines.head("depth", kColumns);
  const DepthErrors& all = found.all;
  std::string row;
  for (const std::string& text : {Lines::number(all.abs_rel), Lines::number(all.rmse), Lines::fixed(all.delta_1, 4),
                                  Lines::fixed(all.delta_2, 4), Lines::fixed(all.delta_3, 4)})
    row += std::string(text.size() < 12 ? 12 - text.size() : 1, ' ') + text;
  lines.line("all frames", row.substr(2));
  lines.line("pixels", all.pixels, " in ", found.frames.size(), " frames; ", all.missing, " without an estimate");
  lines.line("scale", Lines::number(all.scale));
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <typename Values>
Json array_of(const Values& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(number(value));
  return array;
}

Json json_of(const ErrorStatistics& statistics) {
  Json object;
  for (std::size_t i = 0; i < kStatistics.size(); ++i) object[kStatisticNames[i]] = number(statistics.*kStatistics[i]);
  return object;
}

Json json_of(const TrajectoryEvaluation& found) {
  const Sim3& map = found.truth_from_estimate;
  Json object = {{"estimate_poses", found.estimate_poses},
                 {"truth_poses", found.truth_poses},
                 {"pairs", found.poses.size()},
                 {"relative_poses", found.relative_poses},
                 {"ate", json_of(found.ate)},
                 {"ate_rotation_degrees", json_of(found.ate_rotation)},
                 {"orientation_degrees", json_of(found.orientation)},
                 {"rpe", json_of(found.rpe)},
                 {"rpe_rotation_degrees", json_of(found.rpe_rotation)},
                 {"auc_5", number(found.auc.at_5)},
                 {"auc_15", number(found.auc.at_15)},
                 {"auc_30", number(found.auc.at_30)},
                 {"truth_length", number(found.truth_length)},
                 {"estimate_length", number(found.estimate_length)},
                 {"ate_percent", number(found.ate_percent)},
                 {"drift_percent", number(found.drift_percent)},
                 {"drift_degrees", number(found.drift_degrees)},
                 {"truth_from_estimate",
                  {{"scale", number(map.scale)},
                   {"rotation", array_of(map.rotation)},
                   {"translation", array_of(map.translation)}}}};
  Json& poses = object["poses"] = Json::array();
  for (const AlignedPose& pose : found.poses) {
    poses.push_back({{"time", number(pose.time)},
                     {"estimate_frame", pose.estimate_frame},
                     {"truth_frame", pose.truth_frame},
                     {"translation_error", number(pose.translation_error)},
                     {"rotation_error_degrees", number(pose.rotation_error)}});
  }
  return object;
}

Json json_of(const DepthErrors& errors) {
  Json object = {{"pixels", errors.pixels}, {"missing", errors.missing}, {"scale", number(errors.scale)}};
  const bool any = errors.pixels > 0;
  const std::array<std::pair<const char*, double>, 5> measures = {{{"abs_rel", errors.abs_rel},
                                                                   {"rmse", errors.rmse},
                                                                   {"delta_1", errors.delta_1},
                                                                   {"delta_2", errors.delta_2},
                                                                   {"delta_3", errors.delta_3}}};
  for (const auto& [name, value] : measures) object[name] = any ? number(value) : Json(nullptr);
  return object;
}

Json json_of(const DepthEvaluation& found) {
  Json object = json_of(found.all);
  Json& frames = object["frames"] = Json::array();
  for (std::size_t i = 0; i < found.frames.size(); ++i) {
    Json frame = {{"frame", found.frame_numbers[i]}};
    frame.update(json_of(found.frames[i]));
    frames.push_back(std::move(frame));
  }
  return object;
}

}  // namespace

std::string to_text(const EvalReport& report) {
  Lines lines;
  if (report.trajectory) add_trajectory(lines, *report.trajectory);
  if (report.trajectory && report.depth) lines.blank();
  if (report.depth) add_depth(lines, *report.depth);
  return lines.str();
}

nlohmann::ordered_json to_json(const EvalReport& report) {
  return {{"program", {{"version", version()}, {"commit", commit()}}},
          {"settings", report.settings},
          {"trajectory", report.trajectory ? json_of(*report.trajectory) : Json(nullptr)},
          {"depth", report.depth ? json_of(*report.depth) : Json(nullptr)},
          {"depth_error", report.depth_error.empty() ? Json(nullptr) : Json(report.depth_error)}};
}

}  // namespace lingbot_map::tool
