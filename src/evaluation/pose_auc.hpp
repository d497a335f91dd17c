#pragma once

#include <cstdint>
#include <span>

#include "evaluation/association.hpp"

namespace lingbot_map {

/// How many pairs of cameras are right to each other, from 0 to 1.
struct PoseAuc {
  double at_5 = 0;
  double at_15 = 0;
  double at_30 = 0;
  std::int64_t camera_pairs = 0;  ///< that were compared
};

/// The area under the recall curve of relative poses, as PoseDiffusion (Wang et al., ICCV 2023) and VGGT (Wang et al.,
/// CVPR 2025) report it; it depends on no alignment. The error of a pair of cameras i < j is the larger of two angles
/// in degrees:
///
///   * of the rotation between the estimated and the true relative rotation;
///   * between the estimated and the true relative translation, as lines: opposite directions differ by 0, so that it
///     is 90 at most. It is 90 where only the estimate does not move, and left out where the truth does not (by less
///     than 1e-9 of the extent of its path).
///
/// recall(k) is the share of pairs with an error below k, and the area at T degrees, as there, the mean of recall(1),
/// recall(2), ... recall(T). All pairs count; of more than 4,000 poses, 4,000 evenly spread ones, since their number
/// grows with the square. All zero for fewer than two poses.
[[nodiscard]] PoseAuc pose_auc(std::span<const PosePair> poses);

}  // namespace lingbot_map
