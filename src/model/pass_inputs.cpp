#include "model/pass_inputs.hpp"

#include <algorithm>

#include "model/positions.hpp"

namespace lingbot_map {
namespace {

constexpr std::int64_t kTimePairs = 10;
constexpr std::int64_t kCameraPairs = 64;

/// The parts in order, from an arena that may have no memory.
PassInputs lay_out(Arena& arena, std::int64_t frames, const FrameGrid& grid) {
  return {.places = arena.allocate(DType::i64, {frames, 2}),
          .camera_place = arena.allocate(DType::i64, {1, 2}),
          .camera_count = arena.allocate(DType::i64, {1}),
          .rotary_time = arena.allocate(DType::f32, {frames, kTimePairs, 2}),
          .rotary_camera = arena.allocate(DType::f32, {frames, kCameraPairs, 2}),
          .images = arena.allocate(DType::u8, {frames, grid.height, grid.width, 3})};
}

}  // namespace

std::size_t PassInputs::bytes(std::int64_t frames, const FrameGrid& grid) {
  Arena arena;
  (void)lay_out(arena, frames, grid);
  return arena.used();
}

PassInputs PassInputs::in(const Tensor& block, std::int64_t frames, const FrameGrid& grid) {
  check(block.contiguous() && block.bytes() == bytes(frames, grid), "pass inputs in ", block.bytes(), " bytes");
  Arena arena(Buffer(block.raw(), block.bytes(), block.device(), [](void*, std::size_t) {}));
  return lay_out(arena, frames, grid);
}

void write_position(const PassPosition& position, const PassInputs& inputs) {
  const std::int64_t frames = inputs.places.dim(0);
  check(frames == static_cast<std::int64_t>(position.spans.size()), frames, " frames with ", position.spans.size(),
        " places");
  auto* place = inputs.places.data<std::int64_t>();
  for (const FrameSpan& span : position.spans) {
    *place++ = span.patch_token;
    *place++ = span.special_token;
  }
  inputs.camera_place.data<std::int64_t>()[0] = position.camera_rows;
  inputs.camera_place.data<std::int64_t>()[1] = 0;
  *inputs.camera_count.data<std::int64_t>() = position.camera_rows + frames;
  std::ranges::copy(rotary_3d_temporal(position.first_frame, frames), inputs.rotary_time.data<float>());
  std::ranges::copy(rotary_camera(position.first_camera_frame, frames), inputs.rotary_camera.data<float>());
}

}  // namespace lingbot_map
