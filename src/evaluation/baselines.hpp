#pragma once

#include "evaluation/depth_map.hpp"
#include "evaluation/trajectory_file.hpp"

/// What a network has to beat: estimates that look at no image.
namespace lingbot_map {

/// The camera that goes on as it began: each pose is the one before it, moved by the motion from the first true pose to
/// the second (in the camera's own axes, so a turn makes a curve). Times and frames are the truth's, whose poses are
/// taken to be evenly spaced. Starts in the true pose and has the true scale, so it needs no alignment. Throws
/// Error(input) for a truth of fewer than two poses.
[[nodiscard]] Trajectory constant_velocity(const Trajectory& truth);

/// The same depth everywhere: the mean of what a scene or a data set shows, or, where a scale is fitted, any number.
/// Throws Error(internal) for sizes or a depth that are not positive.
[[nodiscard]] DepthMap constant_depth(int width, int height, float depth);

}  // namespace lingbot_map
