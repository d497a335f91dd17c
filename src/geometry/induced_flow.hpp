#pragma once

#include <span>

#include "geometry/camera.hpp"

namespace lingbot_map {

/// How far the pixels of one view lie from where the camera of another view sees the same points, on average and in
/// pixels: every eighth pixel of every eighth row is unprojected with its depth and projected into the reference, whose
/// picture may end before the point. Pixels whose depth, or depth in the reference, is not above 1e-6 do not count, nor
/// do any where a view has no usable pose or focal length; when none counts the flow is 0. `depth` is [height, width];
/// both encodings are of pictures of that size. Source: the keyframe criterion of LingBot-Map's batch program.
[[nodiscard]] double mean_induced_flow(std::span<const float> depth, int width, int height, const PoseEncoding& view,
                                       const PoseEncoding& reference) noexcept;

}  // namespace lingbot_map
