#include "sky/sky_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "sky/regions.hpp"

namespace lingbot_map {
namespace {

/// What a region looks like. Sums while pixels are added, means after that.
struct Region {
  double pixels = 0;
  double red = 0;
  double green = 0;
  double blue = 0;
  double row = 0;         ///< 0 at the top of the frame, 1 at the bottom
  double top_row = 0;     ///< pixels in the first row, then their part of a row
  double bottom_row = 0;  ///< the same for the last row
  double difference = 0;  ///< between neighbours inside the region, in levels of the brightest change
  double neighbours = 0;
  double log_depth = 0;
  double confidence = 0;  ///< above 1
  double evidence = 0;
  bool is_sky = false;
};

/// What near and sure mean in this frame.
struct FrameScale {
  double near = 0;  ///< log depth of the near part of the frame
  double far = 0;   ///< of the far part
  double sure = 0;  ///< confidence above 1 of the sure part; 0: the same everywhere, which tells nothing
};

float percentile(std::vector<float> values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Logarithms of depth; what has no usable depth lies at the far end of what has.
std::vector<float> logarithms(std::span<const float> depth) {
  std::vector<float> logs(depth.size());
  float farthest = 0;
  bool any = false;
  const auto is_usable = [](float value) { return std::isfinite(value) && value > 0; };
  for (std::size_t i = 0; i < depth.size(); ++i) {
    if (!is_usable(depth[i])) continue;
    logs[i] = std::log(depth[i]);
    farthest = any ? std::max(farthest, logs[i]) : logs[i];
    any = true;
  }
  for (std::size_t i = 0; i < depth.size(); ++i)
    if (!is_usable(depth[i])) logs[i] = farthest;
  return logs;
}

/// How far above the lowest confidence, which is 1.
std::vector<float> above_lowest(std::span<const float> confidence) {
  std::vector<float> above(confidence.size());
  std::ranges::transform(confidence, above.begin(), [](float value) { return value > 1 ? value - 1 : 0.0F; });
  return above;
}

FrameScale scale_of(const std::vector<float>& log_depth, const std::vector<float>& confidence) {
  FrameScale scale{
      .near = percentile(log_depth, 0.15), .far = percentile(log_depth, 0.85), .sure = percentile(confidence, 0.75)};
  const bool tells = scale.sure > 0.05 && percentile(confidence, 0.1) < 0.8 * scale.sure;
  if (!tells) scale.sure = 0;
  return scale;
}

void add_pixels(std::vector<Region>& regions, const Regions& division, const Image& image,
                std::span<const float> log_depth, std::span<const float> confidence) {
  const auto width = static_cast<std::size_t>(image.width);
  const std::size_t pixels = division.labels.size();
  const double rows = std::max(1, image.height - 1);
  const auto contrast = [&image](std::size_t a, std::size_t b) {
    int most = 0;
    for (std::size_t c = 0; c < 3; ++c)
      most = std::max(most, std::abs(int{image.pixels[3 * a + c]} - int{image.pixels[3 * b + c]}));
    return most;
  };
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    Region& region = regions[static_cast<std::size_t>(division.labels[pixel])];
    ++region.pixels;
    region.red += image.pixels[3 * pixel];
    region.green += image.pixels[3 * pixel + 1];
    region.blue += image.pixels[3 * pixel + 2];
    region.row += static_cast<double>(pixel / width) / rows;
    if (pixel < width) ++region.top_row;
    if (pixel + width >= pixels) ++region.bottom_row;
    region.log_depth += log_depth[pixel];
    region.confidence += confidence[pixel];
    for (const auto& [has, other] :
         {std::pair((pixel + 1) % width != 0, pixel + 1), {pixel + width < pixels, pixel + width}}) {
      if (!has || division.labels[pixel] != division.labels[other]) continue;
      region.difference += contrast(pixel, other);
      ++region.neighbours;
    }
  }
}

void take_means(Region& region, double width) {
  for (double* sum : {&region.red, &region.green, &region.blue, &region.row, &region.log_depth, &region.confidence})
    *sum /= region.pixels;
  region.top_row /= width;
  region.bottom_row /= width;
  if (region.neighbours > 0) region.difference /= region.neighbours;
}

double evidence_of_colour(const Region& region) {
  const double brightest = std::max({region.red, region.green, region.blue, 1.0});
  const double saturation = (brightest - std::min({region.red, region.green, region.blue})) / brightest;
  const double luma = 0.299 * region.red + 0.587 * region.green + 0.114 * region.blue;
  constexpr double kNight = 60;
  constexpr double kBright = 150;
  if (luma < kNight) return 0;
  const bool bluish = region.blue >= region.green && region.blue > region.red;
  if (bluish) return std::min(1.5, 0.5 + 4 * saturation);
  if (saturation < 0.15) return luma > kBright ? 0.8 : -0.3;
  if (region.green > region.red && region.green > region.blue) return -2.5;
  return luma > kBright ? -0.5 : -1.5;  // evening skies are bright where they are red
}

double evidence_of_depth(const Region& region, const FrameScale& scale) {
  const double times_near = region.log_depth - scale.near;  // in logarithms
  const double behind_far = region.log_depth - scale.far;
  return std::clamp(3 * (times_near - 0.9), -4.0, 1.0) + std::clamp(2 * (behind_far + 0.2), -2.0, 1.0);
}

/// Below 1: less sure than the frame is elsewhere.
double sureness(const Region& region, const FrameScale& scale) {
  return scale.sure > 0 ? region.confidence / scale.sure : 0.5;
}

double evidence_of(const Region& region, const FrameScale& scale) {
  const double place = 1.5 - 4 * region.row + (region.top_row > 0 ? 1 : 0) - 3 * region.bottom_row;
  const double smoothness = std::clamp(0.5 * (3 - region.difference), -3.0, 1.0);
  const double doubt = std::clamp(5 * (0.5 - sureness(region, scale)), -3.0, 1.5);
  return -1 + place + smoothness + evidence_of_colour(region) + evidence_of_depth(region, scale) + doubt;
}

/// What the network is sure of and sees near is no sky, whatever its colour.
bool is_near_and_sure(const Region& region, const FrameScale& scale) {
  return region.log_depth - scale.near < 0.7 && sureness(region, scale) > 0.4;
}

/// Calls `meet(a, b)` for every two neighbouring pixels of different regions.
template <typename Meet>
void each_border(const Regions& division, std::size_t width, Meet meet) {
  const std::size_t pixels = division.labels.size();
  const auto visit = [&](std::size_t pixel, std::size_t other) {
    const auto a = static_cast<std::size_t>(division.labels[pixel]);
    const auto b = static_cast<std::size_t>(division.labels[other]);
    if (a != b) meet(a, b);
  };
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    if ((pixel + 1) % width != 0) visit(pixel, pixel + 1);
    if (pixel + width < pixels) visit(pixel, pixel + width);
  }
}

/// Takes back regions that the network is sure of and that do not reach the upper border over other sky: a house at the
/// end of a passage has a sky's depth, and may have its colour.
void drop_what_hangs_free(std::vector<Region>& regions, const Regions& division, const FrameScale& scale,
                          std::size_t width) {
  std::vector<std::size_t> parents(regions.size());
  std::iota(parents.begin(), parents.end(), std::size_t{0});
  const auto root = [&parents](std::size_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
  };
  each_border(division, width, [&](std::size_t a, std::size_t b) {
    if (regions[a].is_sky && regions[b].is_sky) parents[root(a)] = root(b);
  });
  std::vector<char> reaches_top(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].top_row > 0) reaches_top[root(i)] = 1;
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (reaches_top[root(i)] == 0 && sureness(regions[i], scale) > 0.6) regions[i].is_sky = false;
}

/// For each region, the part of its border (that of the frame left out) on which it meets sky.
std::vector<double> surrounded_by_sky(const std::vector<Region>& regions, const Regions& division, std::size_t width) {
  std::vector<double> border(regions.size());
  std::vector<double> with_sky(regions.size());
  each_border(division, width, [&](std::size_t a, std::size_t b) {
    ++border[a];
    ++border[b];
    if (regions[b].is_sky) ++with_sky[a];
    if (regions[a].is_sky) ++with_sky[b];
  });
  for (std::size_t i = 0; i < border.size(); ++i) with_sky[i] = border[i] > 0 ? with_sky[i] / border[i] : 0;
  return with_sky;
}

/// What is all around a region counts for or against it; not for one that the network is sure of, such as a pale house
/// before the sky.
void spread(std::vector<Region>& regions, const Regions& division, const FrameScale& scale, std::size_t width) {
  constexpr int kRounds = 4;
  constexpr double kWeight = 3;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> surrounded = surrounded_by_sky(regions, division, width);
    bool changed = false;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      Region& region = regions[i];
      double weight = kWeight * (surrounded[i] - 0.5);
      if (sureness(region, scale) > 0.75) weight = std::min(weight, 0.0);
      const bool is_sky = region.evidence + weight > 0 && !is_near_and_sure(region, scale);
      changed |= is_sky != region.is_sky;
      region.is_sky = is_sky;
    }
    if (!changed) return;
  }
}

}  // namespace

SkyMask estimate_sky(const Image& image, std::span<const float> depth, std::span<const float> confidence) {
  const std::size_t pixels = image.pixels.size() / 3;
  check(pixels > 0 && depth.size() == pixels && confidence.size() == pixels, "maps of ", depth.size(), " and ",
        confidence.size(), " pixels for a frame of ", image.width, " x ", image.height);
  const std::vector<float> log_depth = logarithms(depth);
  const std::vector<float> above = above_lowest(confidence);
  const FrameScale scale = scale_of(log_depth, above);
  const Regions division = divide(image, log_depth);
  std::vector<Region> regions(static_cast<std::size_t>(division.count));
  add_pixels(regions, division, image, log_depth, above);
  for (Region& region : regions) {
    take_means(region, image.width);
    region.evidence = evidence_of(region, scale);
    region.is_sky = region.evidence > 0 && !is_near_and_sure(region, scale);
  }
  const auto width = static_cast<std::size_t>(image.width);
  spread(regions, division, scale, width);
  drop_what_hangs_free(regions, division, scale, width);

  SkyMask mask{.width = image.width, .height = image.height, .pixels = std::vector<std::uint8_t>(pixels)};
  std::ranges::transform(division.labels, mask.pixels.begin(), [&](std::int32_t label) {
    return regions[static_cast<std::size_t>(label)].is_sky ? SkyMask::kSky : SkyMask::kKeep;
  });
  return mask;
}

}  // namespace lingbot_map
