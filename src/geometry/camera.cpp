#include "geometry/camera.hpp"

namespace lingbot_map {
namespace {

double focal_length(double fov, int side) noexcept { return side / 2.0 / std::tan(fov / 2); }
double field_of_view(double focal_length, int side) noexcept { return 2 * std::atan(side / 2.0 / focal_length); }

}  // namespace

Intrinsics intrinsics_from_fov(double fov_vertical, double fov_horizontal, int width, int height) noexcept {
  return {focal_length(fov_horizontal, width), focal_length(fov_vertical, height), width / 2.0, height / 2.0};
}

Intrinsics in_original_pixels(const Intrinsics& processed, const OriginalPixels& original) noexcept {
  return {processed.fx * original.scale_x, processed.fy * original.scale_y,
          processed.cx * original.scale_x + original.offset_x, processed.cy * original.scale_y + original.offset_y};
}

Intrinsics in_processed_pixels(const Intrinsics& of_original, const OriginalPixels& original) noexcept {
  return {of_original.fx / original.scale_x, of_original.fy / original.scale_y,
          (of_original.cx - original.offset_x) / original.scale_x,
          (of_original.cy - original.offset_y) / original.scale_y};
}

std::optional<Rigid3> world_from_camera(const PoseEncoding& encoding) noexcept {
  const Vec3 centre = {encoding[0], encoding[1], encoding[2]};
  for (const double coordinate : centre)
    if (!std::isfinite(coordinate)) return std::nullopt;
  const auto rotation = rotation_from_quaternion({encoding[3], encoding[4], encoding[5], encoding[6]});
  if (!rotation) return std::nullopt;
  return Rigid3{*rotation, centre};
}

Intrinsics intrinsics_of(const PoseEncoding& encoding, int width, int height) noexcept {
  return intrinsics_from_fov(encoding[7], encoding[8], width, height);
}

PoseEncoding encode_camera(const Rigid3& world_from_camera, const Intrinsics& intrinsics, int width,
                           int height) noexcept {
  const Vec3& centre = world_from_camera.translation;
  const Quaternion q = quaternion_from_rotation(world_from_camera.rotation);
  const std::array<double, 9> encoding = {centre[0],
                                          centre[1],
                                          centre[2],
                                          q.x,
                                          q.y,
                                          q.z,
                                          q.w,
                                          field_of_view(intrinsics.fy, height),
                                          field_of_view(intrinsics.fx, width)};
  PoseEncoding rounded{};
  for (std::size_t i = 0; i < rounded.size(); ++i) rounded[i] = static_cast<float>(encoding[i]);
  return rounded;
}

}  // namespace lingbot_map
