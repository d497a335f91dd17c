#include "plot/depth_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "base/message.hpp"
#include "plot/canvas.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kMostFrames = 6;
constexpr int kCellWidth = 220;
constexpr int kGap = 8;
constexpr int kLeft = 96;
constexpr int kTop = 30;
constexpr double kLetters = 10;
constexpr double kLargestDifference = 0.5;
constexpr Colour kNoDepth = {0, 0, 0};
constexpr Colour kNoDifference = {128, 128, 128};
constexpr Colour kInk = {40, 40, 40};

using Palette = std::array<Colour, 256>;

Palette palette_of(int opencv_map) {
  cv::Mat places(1, 256, CV_8UC1);
  for (int i = 0; i < 256; ++i) places.at<std::uint8_t>(0, i) = static_cast<std::uint8_t>(i);
  cv::Mat colours;
  cv::applyColorMap(places, colours, opencv_map);
  Palette palette{};
  for (int i = 0; i < 256; ++i) {
    const auto bgr = colours.at<cv::Vec3b>(0, i);
    palette[static_cast<std::size_t>(i)] = {bgr[2], bgr[1], bgr[0]};
  }
  return palette;
}

Colour at(const Palette& palette, double place) {
  return palette[static_cast<std::size_t>(std::lround(255 * std::clamp(place, 0.0, 1.0)))];
}

bool is_depth(float value) { return std::isfinite(value) && value > 0; }

/// Nearness, by which depth is coloured, of the bulk of the truth.
struct NearnessRange {
  double far = 0;
  double near = 1;

  explicit NearnessRange(const DepthMap& truth) {
    std::vector<double> values;
    for (const float depth : truth.values)
      if (is_depth(depth)) values.push_back(1.0 / depth);
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    const std::size_t cut = values.size() / 50;
    far = values[cut];
    near = values[values.size() - 1 - cut];
  }
  [[nodiscard]] double place(float depth) const { return near > far ? (1.0 / depth - far) / (near - far) : 0.5; }
};

/// The value of a map where a cell's pixel lies.
float value_at(const DepthMap& map, double share_x, double share_y) {
  const auto place = [](double share, int size) { return std::min(static_cast<int>(share * size), size - 1); };
  return map.values[static_cast<std::size_t>(place(share_y, map.height)) * static_cast<std::size_t>(map.width) +
                    static_cast<std::size_t>(place(share_x, map.width))];
}

/// The cells of one frame, drawn into the picture from column `left` on.
class FrameCells {
 public:
  FrameCells(const DepthComparison& frame, int cell_height)
      : frame_(frame), range_(frame.truth), cell_height_(cell_height) {}

  void draw(Image& picture, int left, const Palette& depth, const Palette& difference) const {
    const auto cell = [&](int row, const auto& colour) {
      const int top = kTop + row * (cell_height_ + kGap);
      for (int y = 0; y < cell_height_; ++y)
        for (int x = 0; x < kCellWidth; ++x) {
          const Colour found = colour((x + 0.5) / kCellWidth, (y + 0.5) / cell_height_);
          std::copy(found.begin(), found.end(),
                    &picture.pixels[3 * (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(picture.width) +
                                         static_cast<std::size_t>(left + x))]);
        }
    };
    const auto of_depth = [&](float value) { return is_depth(value) ? at(depth, range_.place(value)) : kNoDepth; };
    cell(0, [&](double x, double y) { return of_depth(value_at(frame_.truth, x, y)); });
    cell(1, [&](double x, double y) { return of_depth(value_at(frame_.estimate, x, y)); });
    cell(2, [&](double x, double y) {
      const float truth = value_at(frame_.truth, x, y);
      const float estimate = value_at(frame_.estimate, x, y);
      if (!is_depth(truth) || !is_depth(estimate)) return kNoDifference;
      return at(difference, std::abs(double{estimate} - truth) / truth / kLargestDifference);
    });
  }

 private:
  const DepthComparison& frame_;
  NearnessRange range_;
  int cell_height_;
};

std::vector<const DepthComparison*> evenly_spread(std::span<const DepthComparison> frames) {
  const std::size_t count = std::min(frames.size(), kMostFrames);
  std::vector<const DepthComparison*> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(&frames[count == 1 ? 0 : i * (frames.size() - 1) / (count - 1)]);
  return some;
}

}  // namespace

Image draw_depth(std::span<const DepthComparison> frames) {
  check(!frames.empty(), "a picture of depth without frames");
  const std::vector<const DepthComparison*> shown = evenly_spread(frames);
  const DepthMap& first = shown.front()->estimate;
  check(first.width > 0 && first.height > 0, "a depth map without pixels");
  const int cell_height = std::clamp(kCellWidth * first.height / first.width, 1, 4 * kCellWidth);
  const auto columns = static_cast<int>(shown.size());
  const auto left_of = [](std::size_t i) { return kLeft + static_cast<int>(i) * (kCellWidth + kGap); };

  Canvas canvas(left_of(static_cast<std::size_t>(columns)), kTop + 3 * (cell_height + kGap));
  const char* rows[] = {"truth", "estimate", "difference"};
  for (int row = 0; row < 3; ++row)
    canvas.text({kLeft - 8.0, kTop + row * (cell_height + kGap) + cell_height / 2.0}, Anchor::right, rows[row],
                kLetters, kInk);
  for (std::size_t i = 0; i < shown.size(); ++i)
    canvas.text({left_of(i) + kCellWidth / 2.0, kTop / 2.0}, Anchor::centre, shown[i]->name, kLetters, kInk);
  Image picture = canvas.finish();
  const Palette depth = palette_of(cv::COLORMAP_TURBO);
  const Palette difference = palette_of(cv::COLORMAP_HOT);
  for (std::size_t i = 0; i < shown.size(); ++i)
    FrameCells(*shown[i], cell_height).draw(picture, left_of(i), depth, difference);
  return picture;
}

}  // namespace lingbot_map
