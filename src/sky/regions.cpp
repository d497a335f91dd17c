#include "sky/regions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

constexpr float kScale = 120;            // of regions: how much a region of n pixels tolerates is this / n
constexpr std::int32_t kLeastArea = 24;  // pixels; what is smaller joins its most similar neighbour
constexpr float kTolerableJump = 0.15F;  // of log depth between neighbours
constexpr float kJumpWeight = 20;
constexpr float kMostJump = 12;
constexpr std::size_t kDifferences = 268;  // 0 to 255, and a jump

struct Edge {
  std::int32_t from;
  std::int32_t to;
  std::uint16_t difference;
};

/// Sets of pixels that know how large they are and the largest difference inside.
class Forest {
 public:
  explicit Forest(std::size_t pixels) : parents_(pixels), areas_(pixels, 1), inside_(pixels, 0) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  std::int32_t root(std::int32_t pixel) {
    while (parent(pixel) != pixel) {
      parent(pixel) = parent(parent(pixel));
      pixel = parent(pixel);
    }
    return pixel;
  }
  [[nodiscard]] std::int32_t area(std::int32_t root) const { return areas_[static_cast<std::size_t>(root)]; }
  [[nodiscard]] float tolerance(std::int32_t root) const {
    return inside_[static_cast<std::size_t>(root)] + kScale / static_cast<float>(area(root));
  }
  void join(std::int32_t a, std::int32_t b, float difference) {
    if (area(a) < area(b)) std::swap(a, b);
    parent(b) = a;
    areas_[static_cast<std::size_t>(a)] += area(b);
    inside_[static_cast<std::size_t>(a)] = std::max(inside_[static_cast<std::size_t>(a)], difference);
  }

 private:
  std::int32_t& parent(std::int32_t pixel) { return parents_[static_cast<std::size_t>(pixel)]; }

  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> areas_;
  std::vector<float> inside_;
};

std::uint16_t difference(const Image& image, std::span<const float> log_depth, std::size_t a, std::size_t b) {
  int colour = 0;
  for (std::size_t c = 0; c < 3; ++c)
    colour = std::max(colour, std::abs(int{image.pixels[3 * a + c]} - int{image.pixels[3 * b + c]}));
  const float jump = std::abs(log_depth[a] - log_depth[b]) - kTolerableJump;
  return static_cast<std::uint16_t>(static_cast<float>(colour) + std::clamp(kJumpWeight * jump, 0.0F, kMostJump));
}

/// Edges between neighbours, by difference. Counted into place: there are few differences and many edges.
std::vector<Edge> sorted_edges(const Image& image, std::span<const float> log_depth) {
  const auto width = static_cast<std::size_t>(image.width);
  const std::size_t pixels = log_depth.size();
  std::vector<Edge> edges;
  edges.reserve(2 * pixels);
  std::array<std::size_t, kDifferences + 1> places{};
  const auto add = [&](std::size_t a, std::size_t b) {
    edges.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(b), difference(image, log_depth, a, b)});
    ++places[edges.back().difference + 1U];
  };
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    if ((pixel + 1) % width != 0) add(pixel, pixel + 1);
    if (pixel + width < pixels) add(pixel, pixel + width);
  }
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<Edge> sorted(edges.size());
  for (const Edge& edge : edges) sorted[places[edge.difference]++] = edge;
  return sorted;
}

template <typename Joins>
void join_where(Forest& forest, std::span<const Edge> edges, Joins joins) {
  for (const Edge& edge : edges) {
    const std::int32_t a = forest.root(edge.from);
    const std::int32_t b = forest.root(edge.to);
    if (a != b && joins(a, b, edge.difference)) forest.join(a, b, edge.difference);
  }
}

Regions labelled(Forest& forest, std::size_t pixels) {
  Regions regions{.count = 0, .labels = std::vector<std::int32_t>(pixels)};
  std::vector<std::int32_t> label_of_root(pixels, -1);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    std::int32_t& label = label_of_root[static_cast<std::size_t>(forest.root(static_cast<std::int32_t>(pixel)))];
    if (label < 0) label = regions.count++;
    regions.labels[pixel] = label;
  }
  return regions;
}

}  // namespace

Regions divide(const Image& image, std::span<const float> log_depth) {
  check(3 * log_depth.size() == image.pixels.size(), "depth of ", log_depth.size(), " pixels for an image of ",
        image.width, " x ", image.height);
  const std::vector<Edge> edges = sorted_edges(smoothed(image), log_depth);
  Forest forest(log_depth.size());
  join_where(forest, edges, [&](std::int32_t a, std::int32_t b, float difference) {
    return difference <= std::min(forest.tolerance(a), forest.tolerance(b));
  });
  join_where(forest, edges, [&](std::int32_t a, std::int32_t b, float) {
    return std::min(forest.area(a), forest.area(b)) < kLeastArea;
  });
  return labelled(forest, log_depth.size());
}

Image smoothed(const Image& image) {
  Image smooth(image.width, image.height);
  const auto row = 3 * static_cast<std::size_t>(image.width);
  std::vector<std::uint16_t> columns(row);  // sums over the rows around
  for (int y = 0; y < image.height; ++y) {
    const int first = std::max(y - 1, 0);
    const int last = std::min(y + 1, image.height - 1);
    std::ranges::fill(columns, std::uint16_t{0});
    for (int other = first; other <= last; ++other) {
      const std::uint8_t* const samples = &image.pixels[static_cast<std::size_t>(other) * row];
      for (std::size_t i = 0; i < row; ++i) columns[i] = static_cast<std::uint16_t>(columns[i] + samples[i]);
    }
    std::uint8_t* const out = &smooth.pixels[static_cast<std::size_t>(y) * row];
    const int rows = last - first + 1;
    for (std::size_t i = 0; i < row; ++i) {
      const bool has_left = i >= 3;
      const bool has_right = i + 3 < row;
      const int sum = columns[i] + (has_left ? columns[i - 3] : 0) + (has_right ? columns[i + 3] : 0);
      const int count = rows * (1 + (has_left ? 1 : 0) + (has_right ? 1 : 0));
      out[i] = static_cast<std::uint8_t>((sum + count / 2) / count);
    }
  }
  return smooth;
}

}  // namespace lingbot_map
