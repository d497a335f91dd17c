#pragma once

#include "model/pass.hpp"

namespace lingbot_map {

/// The camera head in float32: refines the pose of every frame from its camera token, seeing all kept frames through
/// the camera cache. tokens float32 [frames, 2C], pose float32 [frames, 9]: centre, quaternion x y z w, raw field of
/// view.
void estimate_cameras(Pass& pass, const Config& config, const CameraWeights& weights, const Tensor& tokens,
                      const Tensor& pose);

}  // namespace lingbot_map
