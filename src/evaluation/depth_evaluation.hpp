#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/depth_map.hpp"

namespace lingbot_map {

/// By what an estimate is multiplied before it is compared.
enum class DepthScale : std::uint8_t {
  sequence,  ///< one number for all frames: the median of what `frame` gives for each
  frame,     ///< for each frame, median of its true depths / median of its estimated depths (Zhou et al., CVPR 2017)
  none,
};

struct DepthOptions {
  DepthScale scale = DepthScale::sequence;
  std::optional<double> max_depth{};  ///< pixels that are truly further away do not count
};

/// An estimate and the truth of the same frame.
struct DepthPair {
  std::string name;  ///< for messages
  std::int64_t frame = 0;
  DepthMap estimate;
  DepthMap truth;
};

/// Errors over a set of pixels, d the scaled estimate and t the truth.
struct DepthErrors {
  std::int64_t pixels = 0;   ///< that were compared
  std::int64_t missing = 0;  ///< with a true depth that would count, but no estimated one
  double scale = 1;          ///< what the estimate was multiplied by
  double abs_rel = 0;        ///< mean of |d - t| / t
  double rmse = 0;           ///< root of the mean of (d - t)^2, in the truth's unit
  double delta_1 = 0;        ///< share of pixels with max(d / t, t / d) below 1.25
  double delta_2 = 0;        ///< below 1.25^2
  double delta_3 = 0;        ///< below 1.25^3
};

struct DepthEvaluation {
  DepthErrors all;  ///< over all pixels of all frames, each counting the same; scale is the median of the frames'
  std::vector<std::int64_t> frame_numbers;  ///< DepthPair::frame
  std::vector<DepthErrors> frames;
};

/// How good the depth of a sequence is. Pixels count where the truth is finite, positive and not beyond max_depth,
/// which leaves out the sky, and the estimate is finite and positive. The comparison is made at the estimate's size; a
/// truth of another size is sampled at the pixel next to it. Both must show the same picture: heights that differ by
/// more than eight of the estimate's pixels, after scaling to its width, are refused, as a crop would be.
///
/// `load(i)` gives pair i of `count`; it is called from several threads at once, and twice for each i when one scale is
/// fitted to the sequence. At no time are more than a few pairs in memory. Throws Error(usage) for a max_depth that is
/// not positive, Error(input) that names the frame for sizes that do not fit, and when no pixel can be compared at all.
[[nodiscard]] DepthEvaluation evaluate_depth(std::size_t count, const std::function<DepthPair(std::size_t)>& load,
                                             const DepthOptions& options = {});

}  // namespace lingbot_map
