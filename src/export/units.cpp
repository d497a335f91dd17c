#include "export/units.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "base/text.hpp"
#include "export/number_text.hpp"
#include "geometry/camera.hpp"

namespace lingbot_map {
namespace {

std::string number_text(double number) {
  std::string text;
  append_number(text, number);
  return text;
}

}  // namespace

Units Units::scaled(double scale) {
  return {.output_from_network = {.scale = scale, .rotation = Sim3{}.rotation, .translation = {}},
          .text = "lengths are the network's own times " + number_text(scale) + " (--scale)",
          .changed = true};
}

Units Units::aligned(const Sim3& output_from_network, const std::string& name) {
  return {.output_from_network = output_from_network,
          .text = message("world and unit are those of ", printable(name), " (--align_to; scale ",
                          number_text(output_from_network.scale), ")"),
          .changed = true};
}

FrameResult in_units(const Units& units, FrameResult result) {
  if (!units.changed) return result;
  const Sim3& output_from_network = units.output_from_network;
  if (const auto world = world_from_camera(result.pose_enc)) {
    const Rigid3 moved = output_from_network * *world;
    const Quaternion q = quaternion_from_rotation(moved.rotation);
    const std::array<double, 7> pose = {
        moved.translation[0], moved.translation[1], moved.translation[2], q.x, q.y, q.z, q.w};
    std::ranges::transform(pose, result.pose_enc.begin(), [](double value) { return static_cast<float>(value); });
  }
  for (float& depth : result.depth) depth = static_cast<float>(depth * output_from_network.scale);
  for (std::size_t i = 0; i + 2 < result.world_points.size(); i += 3) {
    float* point = &result.world_points[i];
    const Vec3 moved = output_from_network * Vec3{point[0], point[1], point[2]};
    std::ranges::transform(moved, point, [](double value) { return static_cast<float>(value); });
  }
  return result;
}

}  // namespace lingbot_map
