#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

using Colour = std::array<std::uint8_t, 3>;  ///< red, green, blue

/// A place in pixels, x to the right and y down from the picture's upper left corner.
struct Place {
  double x = 0;
  double y = 0;
};

/// How a line of text lies to the place that it is given: the place is at its left end, its middle or its right end,
/// and half way up its capitals.
enum class Anchor : std::uint8_t { left, centre, right };

/// A white sheet that is drawn on with antialiased lines and letters (drawn larger and reduced at the end). Numbers are
/// pixels of the finished picture and need not be whole; what lies outside is cut off.
class Canvas {
 public:
  Canvas(int width, int height);
  ~Canvas();
  Canvas(Canvas&&) noexcept;
  Canvas& operator=(Canvas&&) noexcept;

  [[nodiscard]] int width() const noexcept { return width_; }
  [[nodiscard]] int height() const noexcept { return height_; }

  void line(Place from, Place to, Colour colour, double thickness);
  /// A line through all places.
  void polyline(std::span<const Place> places, Colour colour, double thickness);
  void dashed_line(Place from, Place to, Colour colour, double thickness);
  void fill(Place corner, Place opposite, Colour colour);
  /// A filled disc, with a rim of another colour.
  void disc(Place centre, double radius, Colour colour, Colour rim);
  void square(Place centre, double half_side, Colour colour, Colour rim);
  /// ASCII text with capitals of `size` pixels.
  void text(Place place, Anchor anchor, const std::string& text, double size, Colour colour, bool bold = false);
  /// The same, turned to run upwards.
  void upward_text(Place place, Anchor anchor, const std::string& text, double size, Colour colour);
  [[nodiscard]] static double text_width(const std::string& text, double size);

  [[nodiscard]] Image finish() const;

 private:
  struct Sheet;
  int width_;
  int height_;
  std::unique_ptr<Sheet> sheet_;
};

}  // namespace lingbot_map
