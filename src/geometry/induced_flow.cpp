#include "geometry/induced_flow.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace lingbot_map {
namespace {

constexpr int kStride = 8;
constexpr double kLeastDepth = 1e-6;

}  // namespace

double mean_induced_flow(std::span<const float> depth, int width, int height, const PoseEncoding& view,
                         const PoseEncoding& reference) noexcept {
  const auto world_from_view = world_from_camera(view);
  const auto world_from_reference = world_from_camera(reference);
  const Intrinsics view_camera = intrinsics_of(view, width, height);
  const Intrinsics reference_camera = intrinsics_of(reference, width, height);
  if (!world_from_view || !world_from_reference || !view_camera.usable() || !reference_camera.usable()) return 0;

  const Rigid3 reference_from_view = world_from_reference->inverse() * *world_from_view;
  double total = 0;
  std::int64_t count = 0;
  for (int v = 0; v < height; v += kStride) {
    for (int u = 0; u < width; u += kStride) {
      const double d =
          depth[static_cast<std::size_t>(v) * static_cast<std::size_t>(width) + static_cast<std::size_t>(u)];
      if (!(d > kLeastDepth) || !std::isfinite(d)) continue;
      const Vec3 point = reference_from_view * unproject(view_camera, u, v, d);
      if (!(point[2] > kLeastDepth)) continue;
      total += std::hypot(reference_camera.fx * point[0] / point[2] + reference_camera.cx - u,
                          reference_camera.fy * point[1] / point[2] + reference_camera.cy - v);
      ++count;
    }
  }
  return count == 0 ? 0 : total / static_cast<double>(count);
}

}  // namespace lingbot_map
