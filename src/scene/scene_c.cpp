#include "scene/scene_c.h"

#include <exception>
#include <memory>
#include <string>

#include "base/message.hpp"
#include "scene/sequence.hpp"

struct lm_scene_sequence {
  lingbot_map::scene::Sequence sequence;
};

namespace {

using lingbot_map::ErrorCode;
using lingbot_map::fail;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// 0, or -1 and a message for lm_scene_error when the action throws.
template <typename Action>
int guarded(const Action& action) noexcept {
  try {
    action();
    return 0;
  } catch (const std::exception& error) {
    last_error() = error.what();
  } catch (...) {
    last_error() = "unknown error";
  }
  return -1;
}

const lingbot_map::scene::Sequence& checked(const lm_scene_sequence* handle, int frame) {
  if (handle == nullptr) fail(ErrorCode::usage, "scene: found no sequence, expected one from lm_scene_open");
  if (frame < 0 || frame >= handle->sequence.frames()) {
    fail(ErrorCode::usage, "scene: found frame ", frame, ", expected 0 to ", handle->sequence.frames() - 1);
  }
  return handle->sequence;
}

}  // namespace

extern "C" {

lm_scene_sequence* lm_scene_open(int kind, uint64_t seed, int frames, int width, int height, float fov_h) {
  std::unique_ptr<lm_scene_sequence> made;
  guarded([&] {
    constexpr int kKinds = std::size(lingbot_map::scene::kSceneKinds);
    if (kind < 0 || kind >= kKinds) fail(ErrorCode::usage, "scene: found kind ", kind, ", expected 0 to ", kKinds - 1);
    made.reset(new lm_scene_sequence{lingbot_map::scene::Sequence(
        {lingbot_map::scene::kSceneKinds[kind], seed, frames, width, height, static_cast<double>(fov_h)})});
  });
  return made.release();
}

void lm_scene_close(lm_scene_sequence* sequence) { delete sequence; }

void lm_scene_fov(const lm_scene_sequence* sequence, float out[2]) {
  out[0] = sequence == nullptr ? 0 : static_cast<float>(sequence->sequence.fov_vertical());
  out[1] = sequence == nullptr ? 0 : static_cast<float>(sequence->sequence.fov_horizontal());
}

int lm_scene_pose(const lm_scene_sequence* sequence, int frame, double out[7]) {
  return guarded([&] {
    const lingbot_map::Rigid3& pose = checked(sequence, frame).path()[frame];
    const lingbot_map::Quaternion q = lingbot_map::quaternion_from_rotation(pose.rotation);
    const double values[7] = {pose.translation[0], pose.translation[1], pose.translation[2], q.x, q.y, q.z, q.w};
    for (int i = 0; i < 7; ++i) out[i] = values[i];
  });
}

int lm_scene_render(const lm_scene_sequence* sequence, int frame, uint8_t* rgb, float* depth) {
  return guarded([&] {
    const lingbot_map::scene::Sequence& made = checked(sequence, frame);
    const std::size_t pixels = static_cast<std::size_t>(made.options().width) * made.options().height;
    made.draw_frame(frame, {rgb, 3 * pixels}, {depth, pixels});
  });
}

const char* lm_scene_error(void) { return last_error().c_str(); }

}  // extern "C"
