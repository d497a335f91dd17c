#include "export/posed_frame.hpp"

#include "base/message.hpp"

namespace lingbot_map {

PosedFrame pose_frame(const FrameResult& result, const FrameResult& in_output_units, const FrameMeta& meta,
                      const Units& units) {
  const std::size_t pixels = static_cast<std::size_t>(result.width) * static_cast<std::size_t>(result.height);
  const Image& image = meta.image;
  check(result.depth.size() == pixels && result.depth_conf.size() == pixels && image.width == result.width &&
            image.height == result.height && image.pixels.size() == 3 * pixels,
        "frame ", result.index, ": maps or image are not ", result.width, " x ", result.height);
  auto pose = world_from_camera(result.pose_enc);
  if (pose && units.changed) pose = units.output_from_network * *pose;
  return {in_output_units, meta, pose,
          meta.camera.value_or(intrinsics_of(result.pose_enc, result.width, result.height))};
}

PosedFrame pose_frame(const FrameResult& result, const FrameMeta& meta) {
  return pose_frame(result, result, meta, Units{});
}

}  // namespace lingbot_map
