#pragma once

#include <cstdint>
#include <filesystem>

#include "export/trajectory.hpp"
#include "scene/sequence.hpp"

namespace lingbot_map::tool {

/// The folder of a generated sequence, as docs/formats.md tells it. What is there of an earlier sequence is replaced; a
/// folder with pictures that this command did not write is refused.
class SceneOutput {
 public:
  /// Writes scene.json. Throws Error(output).
  SceneOutput(const std::filesystem::path& folder, const scene::Sequence& sequence, double fps, bool sky_masks);

  /// Picture, depth and sky of one frame; different frames may be written from different threads. Throws Error(output).
  void write_pictures(int index, const scene::RenderedFrame& frame) const;
  /// Pose and intrinsics of the next frame in order. Throws Error(output).
  void write_camera(int index);
  void finish();

 private:
  [[nodiscard]] std::filesystem::path file(const char* subfolder, int index, const char* extension) const;

  std::filesystem::path folder_;
  const scene::Sequence& sequence_;
  double fps_;
  bool sky_masks_;
  TumWriter trajectory_;
  IntrinsicsWriter intrinsics_;
};

}  // namespace lingbot_map::tool
