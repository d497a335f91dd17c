#include "export/depth_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

using Colour = std::array<double, 3>;

// Blue, cyan, green, yellow, red with dark ends: neighbours differ in brightness as well as in hue.
constexpr std::array<Colour, 8> kColours = {{{40, 20, 70},
                                             {60, 90, 220},
                                             {40, 170, 240},
                                             {50, 225, 160},
                                             {150, 245, 70},
                                             {240, 200, 50},
                                             {245, 110, 30},
                                             {140, 15, 10}}};

/// The colour at `place` in 0..1.
std::array<std::uint8_t, 3> colour_at(double place) {
  const double position = std::clamp(place, 0.0, 1.0) * (kColours.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(position), kColours.size() - 2);
  const double share = position - static_cast<double>(below);
  std::array<std::uint8_t, 3> colour{};
  for (std::size_t i = 0; i < 3; ++i)
    colour[i] = static_cast<std::uint8_t>(std::lround(std::lerp(kColours[below][i], kColours[below + 1][i], share)));
  return colour;
}

double percentile(std::vector<double>& values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Colours `measure(value)` for the values it makes sense for: those that are finite and positive.
template <typename Measure>
Image colour(std::span<const float> values, int width, int height, Measure measure) {
  Image picture(width, height);
  check(picture.pixels.size() == 3 * values.size(), "a map of ", values.size(), " values is not ", width, " x ",
        height);
  const auto is_valid = [](float value) { return std::isfinite(value) && value > 0; };

  std::vector<double> measures;
  measures.reserve(values.size());
  for (const float value : values)
    if (is_valid(value)) measures.push_back(measure(value));
  if (measures.empty()) return picture;
  const double low = percentile(measures, 0.02);
  const double high = percentile(measures, 0.98);

  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_valid(values[i])) continue;
    const double place = high > low ? (measure(values[i]) - low) / (high - low) : 0.5;
    std::ranges::copy(colour_at(place), &picture.pixels[3 * i]);
  }
  return picture;
}

}  // namespace

std::vector<std::uint16_t> gray16(std::span<const float> values) {
  std::vector<std::uint16_t> gray(values.size());
  std::ranges::transform(values, gray.begin(), [](float value) {
    const double scaled = std::round(value * kGray16Scale);
    return scaled > 0 ? static_cast<std::uint16_t>(std::min(scaled, 65535.0)) : std::uint16_t{0};
  });
  return gray;
}

Image depth_picture(std::span<const float> depth, int width, int height) {
  return colour(depth, width, height, [](float value) { return 1.0 / value; });
}

Image confidence_picture(std::span<const float> confidence, int width, int height) {
  return colour(confidence, width, height, [](float value) { return std::log(static_cast<double>(value)); });
}

}  // namespace lingbot_map
