#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lingbot_map/types.hpp"
#include "sky/sky_mask.hpp"

/// A drawn street with a known sky, and depth and confidence as a network might give them.
namespace lingbot_map::test {

enum class Weather { clear, clouds, overcast, evening, night };

struct SceneOptions {
  Weather weather = Weather::clouds;
  int width = 266;
  int height = 196;
  bool trees = true;
  bool sky = true;        ///< without: a bright ceiling over a room
  double sky_depth = 60;  ///< what the network makes of it; the farthest house stands at 40
  std::uint32_t seed = 1;
};

struct DrawnScene {
  Image image;
  std::vector<float> depth;
  std::vector<float> confidence;
  SkyMask truth;
};

/// Draws row by row: sky, houses of many heights, a road; noise as of a camera over all.
class SceneArtist {
 public:
  explicit SceneArtist(const SceneOptions& options)
      : options_(options),
        scene_{.image = Image(options.width, options.height),
               .depth = std::vector<float>(pixels()),
               .confidence = std::vector<float>(pixels()),
               .truth = {options.width, options.height, std::vector<std::uint8_t>(pixels())}} {}

  DrawnScene draw() {
    for (int y = 0; y < options_.height; ++y)
      for (int x = 0; x < options_.width; ++x) draw_pixel(x, y);
    return scene_;
  }

 private:
  struct Colour {
    double red, green, blue;
  };
  struct Surface {
    Colour colour;
    double depth;
    double confidence;
    bool is_sky = false;
  };

  [[nodiscard]] std::size_t pixels() const {
    return static_cast<std::size_t>(options_.width) * static_cast<std::size_t>(options_.height);
  }
  /// 0 to 1, the same for the same numbers.
  [[nodiscard]] double random(int a, int b, int salt) const {
    std::uint32_t hash = options_.seed * 0x9e3779b9U + static_cast<std::uint32_t>(a) * 0x85ebca6bU +
                         static_cast<std::uint32_t>(b) * 0xc2b2ae35U + static_cast<std::uint32_t>(salt) * 0x27d4eb2fU;
    hash = (hash ^ (hash >> 15)) * 0x2c1b3c6dU;
    hash = (hash ^ (hash >> 12)) * 0x297a2d39U;
    return static_cast<double>(hash ^ (hash >> 15)) / 4294967296.0;
  }
  /// Smooth noise with bumps of `size` pixels.
  [[nodiscard]] double waves(double x, double y, double size, int salt) const {
    const double u = x / size;
    const double v = y / size;
    const int i = static_cast<int>(std::floor(u));
    const int j = static_cast<int>(std::floor(v));
    const auto ease = [](double t) { return t * t * (3 - 2 * t); };
    const double s = ease(u - i);
    return std::lerp(std::lerp(random(i, j, salt), random(i + 1, j, salt), s),
                     std::lerp(random(i, j + 1, salt), random(i + 1, j + 1, salt), s), ease(v - j));
  }

  [[nodiscard]] Surface sky(int x, int y) const {
    const double down = static_cast<double>(y) / options_.height;
    const double cloud = 0.65 * waves(x, 2 * y, 60, 1) + 0.35 * waves(x, 2 * y, 17, 2);
    Colour colour{};
    switch (options_.weather) {
      case Weather::clear: colour = mixed({70, 125, 205}, {175, 205, 235}, 1.6 * down); break;
      case Weather::clouds:
        colour = mixed(mixed({80, 135, 210}, {180, 208, 236}, 1.6 * down),
                       mixed({205, 208, 214}, {250, 250, 250}, cloud), 6 * (cloud - 0.5));
        break;
      case Weather::overcast: colour = mixed({178, 180, 184}, {226, 228, 230}, cloud); break;
      case Weather::evening: colour = mixed({96, 110, 160}, {250, 190, 140}, 2.2 * down); break;
      case Weather::night: colour = mixed({8, 10, 22}, {26, 26, 36}, 1.6 * down); break;
    }
    const double uncertain = options_.sky_depth * (0.7 + 0.6 * waves(x, y, 45, 3));
    return {colour, uncertain, 1.02 + 0.2 * waves(x, y, 30, 4), true};
  }
  [[nodiscard]] Surface ceiling(int x, int y) const {
    const double shade = 232 - 18 * static_cast<double>(y) / options_.height + 3 * waves(x, y, 50, 5);
    return {{shade, shade, shade - 3}, 3.0 + 2.5 * y / horizon(), 3.5};
  }
  [[nodiscard]] double horizon() const { return 0.58 * options_.height; }
  [[nodiscard]] int house(int x) const { return static_cast<int>(std::floor(x / (0.13 * options_.width))); }
  [[nodiscard]] double roof(int x) const {
    return horizon() - options_.height * (0.07 + 0.36 * random(house(x), 0, 6));
  }
  [[nodiscard]] Surface wall(int x, int y) const {
    const int number = house(x);
    const double tone = 70 + 110 * random(number, 1, 7);
    const double warm = 22 * random(number, 2, 7);
    const double night = options_.weather == Weather::night ? 0.25 : 1;
    Colour colour{night * (tone + warm), night * tone, night * (tone - warm)};
    const bool window = x % 11 > 5 && y % 13 > 6;
    if (window)
      colour = options_.weather == Weather::night && random(x / 11, y / 13, 8) > 0.6
                   ? Colour{235, 205, 120}
                   : Colour{night * 55, night * 65, night * 80};
    return {colour, 9 + 31 * random(number, 3, 7), 5};
  }
  [[nodiscard]] Surface road(int x, int y) const {
    const double below = (y - horizon()) / (options_.height - horizon());
    const double tone = (options_.weather == Weather::night ? 22 : 92) + 14 * waves(x, y, 4, 9);
    return {{tone, tone, tone + 3}, 2 / (below + 0.05), 6};
  }
  [[nodiscard]] bool in_tree(int x, int y) const {
    const double from_crown = std::hypot(x - 0.8 * options_.width, y - 0.3 * options_.height) / options_.width;
    const bool trunk =
        std::abs(x - 0.8 * options_.width) < 3 && y > 0.3 * options_.height && y < 0.75 * options_.height;
    return options_.trees && (trunk || from_crown + 0.05 * waves(x, y, 7, 10) < 0.13);
  }
  [[nodiscard]] Surface tree(int x, int y) const {
    const double leaf = (options_.weather == Weather::night ? 0.2 : 1) * (0.5 + random(x, y, 11));
    return {{55 * leaf, 85 * leaf, 40 * leaf}, 6, 3};
  }

  [[nodiscard]] Surface surface(int x, int y) const {
    if (options_.sky && in_tree(x, y)) return tree(x, y);
    if (y >= horizon()) return road(x, y);
    if (y >= roof(x)) return wall(x, y);
    return options_.sky ? sky(x, y) : ceiling(x, y);
  }
  void draw_pixel(int x, int y) {
    const Surface seen = surface(x, y);
    const std::size_t pixel =
        static_cast<std::size_t>(y) * static_cast<std::size_t>(options_.width) + static_cast<std::size_t>(x);
    const double noise = 5 * (random(x, y, 12) + random(x, y, 13) - 1);
    const double values[] = {seen.colour.red, seen.colour.green, seen.colour.blue};
    for (std::size_t c = 0; c < 3; ++c)
      scene_.image.pixels[3 * pixel + c] = static_cast<std::uint8_t>(std::clamp(values[c] + noise, 0.0, 255.0));
    scene_.depth[pixel] = static_cast<float>(seen.depth);
    scene_.confidence[pixel] = static_cast<float>(seen.confidence);
    scene_.truth.pixels[pixel] = seen.is_sky ? SkyMask::kSky : SkyMask::kKeep;
  }
  static Colour mixed(const Colour& a, const Colour& b, double share) {
    share = std::clamp(share, 0.0, 1.0);
    return {std::lerp(a.red, b.red, share), std::lerp(a.green, b.green, share), std::lerp(a.blue, b.blue, share)};
  }

  SceneOptions options_;
  DrawnScene scene_;
};

inline DrawnScene drawn_scene(const SceneOptions& options) { return SceneArtist(options).draw(); }

/// What two masks have in common, as a part of what either has: 1 for the same, also when neither has any.
inline double overlap(const SkyMask& a, const SkyMask& b) {
  double both = 0;
  double either = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    both += a.is_sky(i) && b.is_sky(i) ? 1 : 0;
    either += a.is_sky(i) || b.is_sky(i) ? 1 : 0;
  }
  return either > 0 ? both / either : 1;
}

}  // namespace lingbot_map::test
