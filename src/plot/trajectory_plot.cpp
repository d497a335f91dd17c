#include "plot/trajectory_plot.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <vector>

#include "plot/axes.hpp"

namespace lingbot_map {
namespace {

constexpr int kWidth = 1000;
constexpr double kLeft = 84;
constexpr double kRight = 30;
constexpr double kTop = 64;
constexpr double kBottom = 56;
constexpr double kLeastHeight = 260;  // of the axes
constexpr double kMostHeight = 900;
constexpr std::array<const char*, 3> kAxisNames = {"x", "y", "z"};

Vec3 mean_down(std::span<const AlignedPose> poses) {
  Vec3 mean{};
  for (const AlignedPose& pose : poses)
    for (std::size_t i = 0; i < 3; ++i) mean[i] += pose.truth.rotation[3 * i + 1] / static_cast<double>(poses.size());
  return mean;
}

/// What the centres of all true poses, and of the estimated ones if asked for, lie in along one axis.
Range extent_of(std::span<const AlignedPose> poses, int axis, bool estimate_too) {
  const auto a = static_cast<std::size_t>(axis);
  Range range = {poses.front().truth.translation[a], poses.front().truth.translation[a]};
  for (const AlignedPose& pose : poses) {
    for (const Vec3& centre :
         {pose.truth.translation, estimate_too ? pose.estimate.translation : pose.truth.translation}) {
      range.low = std::min(range.low, centre[a]);
      range.high = std::max(range.high, centre[a]);
    }
  }
  return range;
}

int shortest_axis(std::span<const AlignedPose> poses) {
  int shortest = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (extent_of(poses, axis, false).size() < extent_of(poses, shortest, false).size()) shortest = axis;
  return shortest;
}

Range around(double middle, double size) { return {middle - size / 2, middle + size / 2}; }
double middle_of(Range range) { return range.low + range.size() / 2; }

std::string text_of(double number) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(3) << number;
  return text.str();
}

void draw_legend(Canvas& canvas, const TrajectoryEvaluation& evaluation, const std::string& unit) {
  constexpr double kSize = 12;
  double x = kLeft;
  const double y = 46;
  const auto entry = [&](const std::string& name, auto mark) {
    mark(Place{x + 12, y});
    canvas.text({x + 30, y}, Anchor::left, name, kSize, palette::ink);
    x += 30 + Canvas::text_width(name, kSize) + 26;
  };
  const auto stroke = [&](Colour colour, double thickness) {
    return [&canvas, colour, thickness](Place at) {
      canvas.line({at.x - 12, at.y}, {at.x + 12, at.y}, colour, thickness);
    };
  };
  entry("truth", stroke(palette::truth, 5));
  entry("estimate", stroke(palette::estimate, 2.2));
  entry("start", [&](Place at) { canvas.disc(at, 5, palette::start, palette::white); });
  entry("end", [&](Place at) { canvas.square(at, 4.5, palette::end, palette::white); });
  canvas.text({kLeft, 20}, Anchor::left, "Trajectory from above", 14, palette::ink, true);
  const std::string error = "ATE " + text_of(evaluation.ate.rmse) + " " + unit +
                            (std::isfinite(evaluation.ate_percent) ? ", " + text_of(evaluation.ate_percent) + " % of " +
                                                                         text_of(evaluation.truth_length) + " " + unit
                                                                   : "");
  canvas.text({kWidth - kRight, 20}, Anchor::right, error, kSize, palette::faint_ink);
}

}  // namespace

TopView top_view_of(std::span<const AlignedPose> poses) {
  const Vec3 down = mean_down(poses);
  int vertical = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(down[static_cast<std::size_t>(axis)]) > std::abs(down[static_cast<std::size_t>(vertical)]))
      vertical = axis;
  bool points_down = down[static_cast<std::size_t>(vertical)] > 0;
  constexpr double kUpright = 0.5;
  if (!(std::abs(down[static_cast<std::size_t>(vertical)]) > kUpright)) {
    vertical = shortest_axis(poses);
    points_down = vertical == 1;
  }
  // Seen from above, right x up must point to the eye: up the vertical, or against an axis that points down.
  const int next = (vertical + 1) % 3;
  const int last = (vertical + 2) % 3;
  return points_down ? TopView{last, next} : TopView{next, last};
}

Image draw_trajectory(const TrajectoryEvaluation& evaluation, const std::string& unit) {
  const std::span<const AlignedPose> poses = evaluation.poses;
  const TopView view = top_view_of(poses);
  const Range right = extent_of(poses, view.right, true);
  const Range up = extent_of(poses, view.up, true);

  // One unit is as many pixels both ways; the sheet is as high as the path asks for.
  constexpr double kMargin = 1.12;
  const double plot_width = kWidth - kLeft - kRight;
  const double wanted = up.size() / std::max(right.size(), 1e-300) * plot_width;
  const double plot_height = std::round(std::clamp(wanted, kLeastHeight, kMostHeight));
  double pixel = kMargin * std::max(right.size() / plot_width, up.size() / plot_height);
  // A camera that stands still, or hardly moves for how far away it is, gets a sheet on which numbers still differ.
  const double farthest = std::max(std::abs(middle_of(right)), std::abs(middle_of(up)));
  if (!(pixel * plot_width > 1e-9 * farthest)) pixel = std::max(1.0, 1e-9 * farthest) / plot_width;
  Canvas canvas(kWidth, static_cast<int>(kTop + plot_height + kBottom));
  Axes axes(canvas, {kLeft, kTop}, {kWidth - kRight, kTop + plot_height}, around(middle_of(right), pixel * plot_width),
            around(middle_of(up), pixel * plot_height));
  const auto title = [&](int axis) {
    return std::string(kAxisNames[static_cast<std::size_t>(axis)]) + " (" + unit + ")";
  };
  axes.draw(title(view.right), title(view.up), 9, static_cast<int>(std::lround(plot_height / 90)));

  const auto place_of = [&](const Rigid3& pose) {
    return axes.place(pose.translation[static_cast<std::size_t>(view.right)],
                      pose.translation[static_cast<std::size_t>(view.up)]);
  };
  std::vector<Place> truth;
  std::vector<Place> estimate;
  for (const AlignedPose& pose : poses) {
    truth.push_back(place_of(pose.truth));
    estimate.push_back(place_of(pose.estimate));
  }
  canvas.polyline(truth, palette::truth, 5);
  canvas.polyline(estimate, palette::estimate, 2.2);
  canvas.disc(estimate.front(), 6, palette::start, palette::white);
  canvas.square(estimate.back(), 5.5, palette::end, palette::white);
  draw_legend(canvas, evaluation, unit);
  return canvas.finish();
}

}  // namespace lingbot_map
