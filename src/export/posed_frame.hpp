#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "export/units.hpp"
#include "geometry/camera.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map {

/// What the caller knows of a frame and the network does not.
struct FrameMeta {
  double timestamp = 0;        ///< seconds, later than that of the frame before
  std::string name;            ///< of the file or the place in the video, for messages
  Image image;                 ///< the network's input
  OriginalPixels original;     ///< how that lies in the picture it was made from
  std::filesystem::path file;  ///< the original picture, if a file has its pixels as they are; else empty
  /// The camera, where it is known better than the network does: in pixels of the network's input.
  std::optional<Intrinsics> camera;
};

/// A frame as the exports take it: in the units that results are written in.
struct PosedFrame {
  const FrameResult& result;  ///< maps in output units
  const FrameMeta& meta;
  std::optional<Rigid3> world_from_camera;  ///< nothing if the network gave no pose
  Intrinsics intrinsics;                    ///< in pixels of the network's input

  /// Whether pixels can be placed in the world.
  [[nodiscard]] bool has_camera() const noexcept { return world_from_camera && intrinsics.usable(); }
  /// Whether the camera is also one that other programs can have: with focal lengths above zero. The network's field of
  /// view can exceed half a turn.
  [[nodiscard]] bool has_pinhole() const noexcept { return has_camera() && intrinsics.fx > 0 && intrinsics.fy > 0; }
};

/// `in_output_units` is what in_units made of `result`; both must outlive the frame. Throws Error(internal) when maps
/// or image are not of the size that the result says.
[[nodiscard]] PosedFrame pose_frame(const FrameResult& result, const FrameResult& in_output_units,
                                    const FrameMeta& meta, const Units& units);
/// The same in the network's own units.
[[nodiscard]] PosedFrame pose_frame(const FrameResult& result, const FrameMeta& meta);

}  // namespace lingbot_map
