#include "plot/error_plot.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "plot/axes.hpp"

namespace lingbot_map {
namespace {

constexpr int kWidth = 1000;
constexpr int kHeight = 640;
constexpr double kLeft = 84;
constexpr double kRight = 30;
constexpr double kPanelHeight = 204;
constexpr double kFirstTop = 48;
constexpr double kSecondTop = 364;

/// One of the two curves.
struct Panel {
  double top = 0;
  std::string heading;
  std::string unit;
  Colour colour{};
  double AlignedPose::*error = nullptr;
  double rmse = 0;
};

std::string text_of(double number) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(3) << number;
  return text.str();
}

void draw_panel(Canvas& canvas, const TrajectoryEvaluation& evaluation, const Panel& panel) {
  // Seconds since the first pose: what stands in files may be a time of day.
  const double start = evaluation.has_times ? evaluation.poses.front().time : 0;
  Range time = {evaluation.poses.front().time - start, evaluation.poses.back().time - start};
  if (!(time.size() > 0)) time.high = time.low + 1;
  Range error = {0, 0};
  for (const AlignedPose& pose : evaluation.poses) error.high = std::max(error.high, pose.*panel.error);
  error.high = error.high > 1e-12 ? 1.08 * error.high : 1e-12;

  Axes axes(canvas, {kLeft, panel.top}, {kWidth - kRight, panel.top + kPanelHeight}, time, error);
  axes.draw(evaluation.has_times ? "time (s)" : "frame", panel.unit, 10, 5);
  std::vector<Place> curve;
  for (const AlignedPose& pose : evaluation.poses) curve.push_back(axes.place(pose.time - start, pose.*panel.error));
  canvas.dashed_line(axes.place(time.low, panel.rmse), axes.place(time.high, panel.rmse), palette::faint_ink, 1.2);
  canvas.polyline(curve, panel.colour, 2);
  canvas.text({kLeft, panel.top - 18}, Anchor::left, panel.heading, 14, palette::ink, true);
  canvas.text({kWidth - kRight, panel.top - 18}, Anchor::right,
              "root mean square " + text_of(panel.rmse) + " " + panel.unit, 12, palette::faint_ink);
}

}  // namespace

Image draw_errors(const TrajectoryEvaluation& evaluation, const std::string& unit) {
  Canvas canvas(kWidth, kHeight);
  draw_panel(
      canvas, evaluation,
      {kFirstTop, "Translation error", unit, palette::estimate, &AlignedPose::translation_error, evaluation.ate.rmse});
  draw_panel(canvas, evaluation,
             {kSecondTop, "Rotation error", "degrees", palette::rotation, &AlignedPose::rotation_error,
              evaluation.ate_rotation.rmse});
  return canvas.finish();
}

}  // namespace lingbot_map
