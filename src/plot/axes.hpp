#pragma once

#include <string>
#include <vector>

#include "plot/canvas.hpp"

namespace lingbot_map {

/// The colours that all pictures share.
namespace palette {
inline constexpr Colour ink = {38, 44, 54};
inline constexpr Colour faint_ink = {105, 113, 125};
inline constexpr Colour grid = {226, 230, 235};
inline constexpr Colour white = {255, 255, 255};
inline constexpr Colour truth = {122, 130, 142};
inline constexpr Colour estimate = {22, 110, 196};
inline constexpr Colour rotation = {214, 96, 24};
inline constexpr Colour start = {36, 158, 86};
inline constexpr Colour end = {204, 44, 60};
}  // namespace palette

struct Range {
  double low = 0;
  double high = 1;
  [[nodiscard]] double size() const noexcept { return high - low; }
};

/// Round numbers (1, 2 or 5 times a power of ten apart) in a range, as many as come near to `wanted`.
struct Ticks {
  double step = 1;
  std::vector<double> values;
  /// A tick as text, with the decimals that the step needs.
  [[nodiscard]] std::string label(double value) const;
};
[[nodiscard]] Ticks ticks_in(Range range, int wanted);

/// A rectangle of the canvas with linear axes; y grows upwards.
class Axes {
 public:
  Axes(Canvas& canvas, Place upper_left, Place lower_right, Range x, Range y);

  [[nodiscard]] Place place(double x, double y) const noexcept;
  /// Lines and numbers at round values, a frame, and what the axes stand for.
  void draw(const std::string& x_title, const std::string& y_title, int x_ticks, int y_ticks);

 private:
  Canvas& canvas_;
  Place upper_left_;
  Place lower_right_;
  Range x_;
  Range y_;
};

}  // namespace lingbot_map
