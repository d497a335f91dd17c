#pragma once

#include <array>
#include <span>
#include <string>

#include "evaluation/evaluate.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// Two axes of the world that a path is drawn over, as seen from above: `right` and `up` on the sheet, 0 for x.
struct TopView {
  int right = 0;
  int up = 2;
  friend bool operator==(const TopView&, const TopView&) = default;
};

/// From where above is. Cameras mostly stand upright, so the world axis that is nearest to the mean of their own down
/// (y) is the vertical, whichever of the conventions the world has (z up, y down, ...); where they do not, it is the
/// axis along which the path is shortest. The other two are laid out so that nothing is mirrored and numbers grow to
/// the right and upwards.
[[nodiscard]] TopView top_view_of(std::span<const AlignedPose> poses);

/// A picture of the aligned estimate against the truth from above, at equal scale, with start and end marked. `unit` is
/// that of the truth: metres in both formats, unless a run stands for the truth.
[[nodiscard]] Image draw_trajectory(const TrajectoryEvaluation& evaluation, const std::string& unit = "m");

}  // namespace lingbot_map
