#pragma once

#include <optional>
#include <span>

#include "geometry/fit_similarity.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map {

/// The results of two windows for the same frames, in order: those of the earlier window are in world coordinates.
struct WindowOverlap {
  std::span<const FrameResult> earlier;
  std::span<const FrameResult> later;
};

/// Where the later window is: `world_from_window`. Nothing when the frames do not tell it: there is none whose pose is
/// usable in both windows, or for `robust` too few points.
///
/// exact: pairs are the frames that are keyframes (or scale frames) in both windows, or the first frame if there is
/// none. The last pair whose poses are usable gives rotation and translation; the median of earlier / later depth over
/// all pixels of all pairs (the lower one of two, between 1e-3 and 1e3, 1 without a valid pixel) gives the scale.
/// robust: Sim(3) over points of all frames, weighted by the confidence of both depths, the inverse of depth, and
/// iteratively by how well they fit (Geman-McClure, at 1.5 times the weighted median residual).
[[nodiscard]] std::optional<Sim3> align_window(const WindowOverlap& overlap, WindowAlignment how);

/// Brings a result into world coordinates: pose (its quaternion then has length one), depth, world points.
void warp(FrameResult& result, const Sim3& world_from_window);

/// Fills the residuals of a window placed this way.
void measure_residuals(const WindowOverlap& overlap, const Sim3& world_from_window, WindowRecord& record);

}  // namespace lingbot_map
