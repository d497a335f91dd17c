#include "evaluation/baselines.hpp"

#include "base/message.hpp"

namespace lingbot_map {

Trajectory constant_velocity(const Trajectory& truth) {
  if (truth.poses.size() < 2)
    fail(ErrorCode::input, truth.name, ": found ", truth.poses.size(), " poses, expected two for a velocity");
  Trajectory result = truth;
  const Rigid3 motion = truth.poses[0].world_from_camera.inverse() * truth.poses[1].world_from_camera;
  for (std::size_t i = 1; i < result.poses.size(); ++i)
    result.poses[i].world_from_camera = result.poses[i - 1].world_from_camera * motion;
  return result;
}

DepthMap constant_depth(int width, int height, float depth) {
  check(width > 0 && height > 0 && depth > 0, "a constant depth of ", depth, " for ", width, " x ", height, " pixels");
  return {width, height, std::vector<float>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), depth)};
}

}  // namespace lingbot_map
