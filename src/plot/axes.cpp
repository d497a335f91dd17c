#include "plot/axes.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace lingbot_map {
namespace {

constexpr double kTextSize = 11;
constexpr double kTitleSize = 12;
constexpr double kLine = 1;

}  // namespace

std::string Ticks::label(double value) const {
  if (std::abs(value) < step / 2) value = 0;  // never -0
  const double power = std::floor(std::log10(step) + 1e-9);
  std::ostringstream text;
  text.imbue(std::locale::classic());
  if (power < -5 || power > 5) {
    text << std::setprecision(4) << value;
  } else {
    text << std::fixed << std::setprecision(static_cast<int>(std::max(-power, 0.0))) << value;
  }
  return text.str();
}

Ticks ticks_in(Range range, int wanted) {
  Ticks ticks;
  const double rough = range.size() / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power;
  ticks.step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  const double tolerance = 1e-9 * ticks.step;
  const double first = std::ceil((range.low - tolerance) / ticks.step) * ticks.step;
  // Counted, since a step may be too small to change a number that is large.
  for (int n = 0; n < 3 * wanted && first + n * ticks.step <= range.high + tolerance; ++n)
    ticks.values.push_back(first + n * ticks.step);
  return ticks;
}

Axes::Axes(Canvas& canvas, Place upper_left, Place lower_right, Range x, Range y)
    : canvas_(canvas), upper_left_(upper_left), lower_right_(lower_right), x_(x), y_(y) {}

Place Axes::place(double x, double y) const noexcept {
  return {std::lerp(upper_left_.x, lower_right_.x, (x - x_.low) / x_.size()),
          std::lerp(lower_right_.y, upper_left_.y, (y - y_.low) / y_.size())};
}

void Axes::draw(const std::string& x_title, const std::string& y_title, int x_ticks, int y_ticks) {
  const Ticks along = ticks_in(x_, x_ticks);
  for (const double value : along.values) {
    const double x = place(value, y_.low).x;
    canvas_.line({x, upper_left_.y}, {x, lower_right_.y}, palette::grid, kLine);
    canvas_.text({x, lower_right_.y + 14}, Anchor::centre, along.label(value), kTextSize, palette::faint_ink);
  }
  const Ticks up = ticks_in(y_, y_ticks);
  double widest = 0;
  for (const double value : up.values) {
    const double y = place(x_.low, value).y;
    const std::string label = up.label(value);
    widest = std::max(widest, Canvas::text_width(label, kTextSize));
    canvas_.line({upper_left_.x, y}, {lower_right_.x, y}, palette::grid, kLine);
    canvas_.text({upper_left_.x - 8, y}, Anchor::right, label, kTextSize, palette::faint_ink);
  }
  const Place upper_right = {lower_right_.x, upper_left_.y};
  const Place lower_left = {upper_left_.x, lower_right_.y};
  for (const auto& [from, to] : {std::pair(upper_left_, upper_right), std::pair(upper_right, lower_right_),
                                 std::pair(lower_right_, lower_left), std::pair(lower_left, upper_left_)})
    canvas_.line(from, to, palette::faint_ink, kLine);
  canvas_.text({(upper_left_.x + lower_right_.x) / 2, lower_right_.y + 36}, Anchor::centre, x_title, kTitleSize,
               palette::ink);
  canvas_.upward_text({upper_left_.x - widest - 26, (upper_left_.y + lower_right_.y) / 2}, Anchor::centre, y_title,
                      kTitleSize, palette::ink);
}

}  // namespace lingbot_map
