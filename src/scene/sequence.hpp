#pragma once

#include <cstdint>
#include <span>

#include "geometry/camera.hpp"
#include "scene/camera_path.hpp"
#include "scene/renderer.hpp"

namespace lingbot_map::scene {

/// Changes whenever the same options give other pictures or poses.
inline constexpr int kGeneratorVersion = 1;

struct SequenceOptions {
  SceneKind kind = SceneKind::room;
  std::uint64_t seed = 0;
  int frames = 200;
  int width = 504;
  int height = 378;
  double fov_horizontal = 0;  ///< radians; 0: chosen by the seed, between 45 and 95 degrees
};

/// A scene and the way of a camera through it, all from a seed. Constant once made; may be drawn by any number of
/// threads.
class Sequence {
 public:
  /// Throws Error(usage) on options that make no sense.
  explicit Sequence(const SequenceOptions& options);

  [[nodiscard]] const SequenceOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Scene& scene() const noexcept { return world_.scene; }
  [[nodiscard]] const CameraPath& path() const noexcept { return path_; }
  [[nodiscard]] int frames() const noexcept { return options_.frames; }
  /// Square pixels; principal point at (width / 2, height / 2), with whole pixel numbers as in render().
  [[nodiscard]] const Intrinsics& intrinsics() const noexcept { return intrinsics_; }
  /// Radians.
  [[nodiscard]] double fov_horizontal() const noexcept { return fov_horizontal_; }
  [[nodiscard]] double fov_vertical() const noexcept { return fov_vertical_; }

  /// What frame `index` sees, by render().
  [[nodiscard]] RenderedFrame frame(int index) const;
  void draw_frame(int index, std::span<std::uint8_t> rgb, std::span<float> depth) const;

  static constexpr int kLeastSide = 8;  ///< pixels
  static constexpr int kLargestSide = 8192;
  static constexpr int kMostFrames = 1'000'000;

 private:
  void find_path();
  void expose();

  SequenceOptions options_;
  World world_;
  CameraPath path_;
  Intrinsics intrinsics_;
  double fov_horizontal_ = 0;
  double fov_vertical_ = 0;
};

}  // namespace lingbot_map::scene
