#pragma once

#include <span>

#include "lingbot_map/types.hpp"
#include "sky/sky_mask.hpp"

namespace lingbot_map {

/// The name of the estimate and its version, which changes whenever its masks do.
inline constexpr const char* kSkyEstimateName = "builtin 1";

/// An estimate of the sky without a network of its own: from the frame and from what the reconstruction says of it.
///
/// The frame is divided into regions of nearly one colour and depth. Each region adds up evidence, in natural
/// logarithms of odds: high in the frame, smooth, of a sky's colours (blue, bright gray and white, evenly dark at
/// night; not green, brown or red), far away, of low confidence. What is near and sure is never sky, however bright: a
/// ceiling stays. Then regions that sky surrounds, as clouds are, may follow with less evidence of their own.
///
/// `depth` and `confidence` ([height, width]) are the network's for this frame; depth that is not finite or not
/// positive counts as far away. Where they mean nothing, as those of a synthetic model, little or nothing is found.
[[nodiscard]] SkyMask estimate_sky(const Image& image, std::span<const float> depth, std::span<const float> confidence);

}  // namespace lingbot_map
