#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "geometry/camera.hpp"
#include "lingbot_map/types.hpp"
#include "scene/scene.hpp"

namespace lingbot_map::scene {

/// A picture of a scene with its depth.
struct RenderedFrame {
  Image colour;
  std::vector<float> depth;  ///< [height, width], metres along the optical axis; 0 where the sky is
};

/// Draws what a pinhole camera sees. The ray of pixel (u, v), whole numbers, is ((u - cx) / fx, (v - cy) / fy, 1) in
/// camera coordinates (x right, y down, z forward); depth is that of this ray, exact up to float32. Colours are
/// smoothed at borders between surfaces. The result depends on nothing but the arguments, to the bit, whatever the
/// processor's instruction set. Works on the calling thread alone; one scene may be drawn by many threads. Sizes must
/// be 1 or more, focal lengths positive.
[[nodiscard]] RenderedFrame render(const Scene& scene, const Rigid3& world_from_camera, const Intrinsics& intrinsics,
                                   int width, int height);

/// The same into memory of the caller: height * width * 3 bytes, height * width floats.
void render_into(const Scene& scene, const Rigid3& world_from_camera, const Intrinsics& intrinsics, int width,
                 int height, std::span<std::uint8_t> rgb, std::span<float> depth);

/// Instruction sets that this processor can draw with, the quickest last. For tests and measurements.
[[nodiscard]] std::vector<std::string_view> instruction_sets();
/// render_into with one of them.
void render_with(std::string_view instruction_set, const Scene& scene, const Rigid3& world_from_camera,
                 const Intrinsics& intrinsics, int width, int height, std::span<std::uint8_t> rgb,
                 std::span<float> depth);

}  // namespace lingbot_map::scene
