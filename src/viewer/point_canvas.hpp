#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lingbot_map/types.hpp"
#include "viewer/view.hpp"

namespace lingbot_map {

using Colour = std::array<std::uint8_t, 3>;

/// A picture in the making: colour and depth of every pixel, in twice the view's resolution so that edges come out
/// smooth.
class PointCanvas {
 public:
  PointCanvas(const View& view, const Colour& background);

  /// A disc that faces the camera, of this radius in pixels of the view at least. What is behind the camera or hidden
  /// by something nearer is left out.
  void draw_point(const Vec3& world_point, double radius_pixels, const Colour& colour);
  /// Darkens every pixel by how much nearer its neighbours are, which lets edges and steps stand out
  /// (eye-dome lighting; Boucheny 2009). To be called once, after the points.
  void shade_edges(double strength);
  /// A line of this width in pixels of the view. Where something nearer hides it, it shines through faintly.
  void draw_line(const Vec3& world_from, const Vec3& world_to, double width_pixels, const Colour& colour);

  /// The picture in the view's resolution.
  [[nodiscard]] Image image() const;

 private:
  static constexpr int kFiner = 2;  ///< pixels of the canvas along one of the view

  [[nodiscard]] Vec3 in_camera(const Vec3& world_point) const { return view_.camera_from_world * world_point; }
  template <typename Action>
  void for_disc(double u, double v, double radius, const Action& action) const;

  View view_;  ///< in the canvas's resolution
  std::vector<float> depth_;
  std::vector<Colour> colour_;
  std::vector<bool> lined_;  ///< where a faint line already lies
};

}  // namespace lingbot_map
