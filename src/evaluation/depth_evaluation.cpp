#include "evaluation/depth_evaluation.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/parallel.hpp"
#include "evaluation/statistics.hpp"

namespace lingbot_map {
namespace {

constexpr double kMostPixelsOff = 8;  // a run rounds heights to multiples of 14

/// Depths of the pixels that count, one beside the other.
struct Depths {
  std::vector<double> estimate;
  std::vector<double> truth;
  std::int64_t missing = 0;
};

void require_same_picture(const DepthPair& pair) {
  const DepthMap& e = pair.estimate;
  const DepthMap& t = pair.truth;
  for (const DepthMap* map : {&e, &t})
    check(map->width > 0 && map->height > 0 &&
              map->values.size() == static_cast<std::size_t>(map->width) * static_cast<std::size_t>(map->height),
          pair.name, ": a depth map of ", map->values.size(), " values for ", map->width, " x ", map->height);
  const double height = static_cast<double>(e.width) * t.height / t.width;
  if (!(std::abs(height - e.height) <= kMostPixelsOff))
    fail(ErrorCode::input, pair.name, ": found ", e.width, " x ", e.height, " pixels of depth and a truth of ", t.width,
         " x ", t.height, ", expected the same picture at any size; one of them is cropped or padded");
}

bool is_depth(double value) { return std::isfinite(value) && value > 0; }

Depths depths_of(const DepthPair& pair, const std::optional<double>& max_depth) {
  require_same_picture(pair);
  const DepthMap& e = pair.estimate;
  const DepthMap& t = pair.truth;
  // The pixel of the truth below the centre of pixel i of n: its whole part of (i + 1/2) * size / n.
  const auto next_to = [](int i, int n, int size) {
    return static_cast<std::size_t>((2 * std::int64_t{i} + 1) * size / (2 * std::int64_t{n}));
  };
  Depths depths;
  std::size_t pixel = 0;
  for (int y = 0; y < e.height; ++y) {
    const std::size_t row = next_to(y, e.height, t.height) * static_cast<std::size_t>(t.width);
    for (int x = 0; x < e.width; ++x, ++pixel) {
      const double truth = t.values[row + next_to(x, e.width, t.width)];
      const double estimate = e.values[pixel];
      if (!is_depth(truth) || (max_depth && truth > *max_depth)) continue;
      if (!is_depth(estimate)) {
        ++depths.missing;
        continue;
      }
      depths.estimate.push_back(estimate);
      depths.truth.push_back(truth);
    }
  }
  return depths;
}

double median_scale(Depths& depths) { return median_of(depths.truth) / median_of(depths.estimate); }

DepthErrors errors_of(const Depths& depths, double scale) {
  DepthErrors errors = {
      .pixels = static_cast<std::int64_t>(depths.truth.size()), .missing = depths.missing, .scale = scale};
  if (errors.pixels == 0) return errors;
  double squares = 0;
  for (std::size_t i = 0; i < depths.truth.size(); ++i) {
    const double truth = depths.truth[i];
    const double estimate = scale * depths.estimate[i];
    const double ratio = std::max(estimate / truth, truth / estimate);
    errors.abs_rel += std::abs(estimate - truth) / truth;
    squares += (estimate - truth) * (estimate - truth);
    errors.delta_1 += ratio < 1.25 ? 1 : 0;
    errors.delta_2 += ratio < 1.25 * 1.25 ? 1 : 0;
    errors.delta_3 += ratio < 1.25 * 1.25 * 1.25 ? 1 : 0;
  }
  const auto pixels = static_cast<double>(errors.pixels);
  for (double* sum : {&errors.abs_rel, &errors.delta_1, &errors.delta_2, &errors.delta_3}) *sum /= pixels;
  errors.rmse = std::sqrt(squares / pixels);
  return errors;
}

/// The errors over the pixels of all frames together.
DepthErrors pooled(const std::vector<DepthErrors>& frames) {
  DepthErrors all;
  std::vector<double> scales;
  double squares = 0;
  for (const DepthErrors& frame : frames) {
    all.missing += frame.missing;
    if (frame.pixels == 0) continue;
    const auto pixels = static_cast<double>(frame.pixels);
    all.pixels += frame.pixels;
    all.abs_rel += pixels * frame.abs_rel;
    all.delta_1 += pixels * frame.delta_1;
    all.delta_2 += pixels * frame.delta_2;
    all.delta_3 += pixels * frame.delta_3;
    squares += pixels * frame.rmse * frame.rmse;
    scales.push_back(frame.scale);
  }
  if (all.pixels == 0)
    fail(ErrorCode::input, "depth: found no pixel with a depth in both estimate and truth in ", frames.size(),
         " frames, expected some; is the largest depth too small?");
  const auto pixels = static_cast<double>(all.pixels);
  for (double* sum : {&all.abs_rel, &all.delta_1, &all.delta_2, &all.delta_3}) *sum /= pixels;
  all.rmse = std::sqrt(squares / pixels);
  all.scale = median_of(scales);
  return all;
}

template <typename Action>
void for_each_frame(std::size_t count, const Action& action) {
  in_parts(count, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) action(i);
  });
}

/// The median over the frames that have one; 1 if none has.
double sequence_scale(std::size_t count, const std::function<DepthPair(std::size_t)>& load,
                      const DepthOptions& options) {
  std::vector<double> of_frames(count, 0);
  for_each_frame(count, [&](std::size_t i) {
    Depths depths = depths_of(load(i), options.max_depth);
    if (!depths.truth.empty()) of_frames[i] = median_scale(depths);
  });
  std::erase(of_frames, 0);
  return of_frames.empty() ? 1 : median_of(of_frames);
}

}  // namespace

DepthEvaluation evaluate_depth(std::size_t count, const std::function<DepthPair(std::size_t)>& load,
                               const DepthOptions& options) {
  if (options.max_depth && !(*options.max_depth > 0))
    fail(ErrorCode::usage, "max_depth: found ", *options.max_depth, ", expected a depth above 0");
  const double common = options.scale == DepthScale::sequence ? sequence_scale(count, load, options) : 1;
  DepthEvaluation result;
  result.frames.resize(count);
  result.frame_numbers.resize(count);
  for_each_frame(count, [&](std::size_t i) {
    const DepthPair pair = load(i);
    const Depths depths = depths_of(pair, options.max_depth);
    double scale = common;
    if (options.scale == DepthScale::frame && !depths.truth.empty()) {
      Depths sorted = depths;
      scale = median_scale(sorted);
    }
    result.frame_numbers[i] = pair.frame;
    result.frames[i] = errors_of(depths, scale);
  });
  result.all = pooled(result.frames);
  return result;
}

}  // namespace lingbot_map
