#include "scene/renderer.hpp"

#include "base/message.hpp"
#include "scene/draw.hpp"

namespace lingbot_map::scene {
namespace {

using Draw = void (*)(const Drawing&);

struct InstructionSet {
  std::string_view name;
  Draw draw;
};

std::vector<InstructionSet> usable_sets() {
  std::vector<InstructionSet> sets = {{"generic", draw_generic}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) sets.push_back({"avx2", draw_avx2});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    sets.push_back({"avx512", draw_avx512});
  }
#endif
  return sets;
}

Float3 column(const Mat3& m, int i) { return to_float({m[i], m[i + 3], m[i + 6]}); }

void draw_with(Draw draw, const Scene& scene, const Rigid3& world_from_camera, const Intrinsics& intrinsics, int width,
               int height, std::span<std::uint8_t> rgb, std::span<float> depth) {
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  check(width > 0 && height > 0 && rgb.size() == 3 * pixels && depth.size() == pixels, "a picture of ", width, " x ",
        height, " pixels in ", rgb.size(), " bytes and ", depth.size(), " floats");
  check(intrinsics.usable() && intrinsics.fx > 0 && intrinsics.fy > 0, "focal lengths that are not positive");
  Drawing drawing;
  drawing.scene = &scene;
  drawing.origin = world_from_camera.translation;
  drawing.right = column(world_from_camera.rotation, 0);
  drawing.down = column(world_from_camera.rotation, 1);
  drawing.forward = column(world_from_camera.rotation, 2);
  drawing.fx = static_cast<float>(intrinsics.fx);
  drawing.fy = static_cast<float>(intrinsics.fy);
  drawing.cx = static_cast<float>(intrinsics.cx);
  drawing.cy = static_cast<float>(intrinsics.cy);
  drawing.width = width;
  drawing.height = height;
  drawing.rgb = rgb.data();
  drawing.depth = depth.data();
  draw(drawing);
}

}  // namespace

std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (const InstructionSet& set : usable_sets()) names.push_back(set.name);
  return names;
}

void render_with(std::string_view instruction_set, const Scene& scene, const Rigid3& world_from_camera,
                 const Intrinsics& intrinsics, int width, int height, std::span<std::uint8_t> rgb,
                 std::span<float> depth) {
  for (const InstructionSet& set : usable_sets()) {
    if (set.name != instruction_set) continue;
    return draw_with(set.draw, scene, world_from_camera, intrinsics, width, height, rgb, depth);
  }
  fail(ErrorCode::unsupported, "instruction set ", instruction_set, ": this processor does not have it");
}

void render_into(const Scene& scene, const Rigid3& world_from_camera, const Intrinsics& intrinsics, int width,
                 int height, std::span<std::uint8_t> rgb, std::span<float> depth) {
  static const Draw best = usable_sets().back().draw;
  draw_with(best, scene, world_from_camera, intrinsics, width, height, rgb, depth);
}

RenderedFrame render(const Scene& scene, const Rigid3& world_from_camera, const Intrinsics& intrinsics, int width,
                     int height) {
  check(width > 0 && height > 0, "a picture of ", width, " x ", height, " pixels");
  RenderedFrame frame;
  frame.colour = Image(width, height);
  frame.depth.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  render_into(scene, world_from_camera, intrinsics, width, height, frame.colour.pixels, frame.depth);
  return frame;
}

}  // namespace lingbot_map::scene
