#include "model/camera_head.hpp"

#include "model/block.hpp"

namespace lingbot_map {

void estimate_cameras(Pass& pass, const Config& config, const CameraWeights& weights, const Tensor& tokens,
                      const Tensor& pose) {
  const StageTimer timer(pass.clock, pass.times.camera);
  const Arena::Scope scope(pass.arena);
  Backend& backend = pass.backend;
  const std::int64_t frames = pass.frames();
  const std::int64_t width = 2 * static_cast<std::int64_t>(config.embed_dim);

  Rotary rotary;
  if (config.camera_rope) {
    rotary.spatial = pass.inputs.rotary_camera;
    rotary.interleaved = true;
  }
  const Tensor x = pass.arena.allocate(DType::f32, {frames, width});
  backend.layer_norm(tokens, weights.token_norm, x);
  const Tensor source = pass.arena.allocate(DType::f32, {frames, 9});
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    backend.copy(weights.empty_pose.view(DType::f32, {1, 9}), source.rows(frame, 1));
  }
  backend.clear(pose);
  const Tensor embedded = pass.arena.allocate(DType::f32, {frames, width});
  const Tensor modulation = pass.arena.allocate(DType::f32, {frames, 3 * width});
  const Tensor y = pass.arena.allocate(DType::f32, {frames, width});
  const Tensor hidden = pass.arena.allocate(DType::f32, {frames, weights.fc1.weight->out()});

  for (int iteration = 0; iteration < pass.camera_iterations; ++iteration) {
    backend.linear(iteration == 0 ? source : pose, weights.embed_pose, Activation::none, embedded);
    backend.silu(embedded, embedded);
    backend.linear(embedded, weights.modulation, Activation::none, modulation);
    backend.modulate(x, modulation, y);
    for (int i = 0; i < config.camera_trunk_depth; ++i) {
      const BlockWeights& block = weights.blocks[static_cast<std::size_t>(i)];
      run_block(pass, block, DType::f32, y, [&](const Tensor& in, const Tensor& scratch, const Tensor& out) {
        const Tensor q = pass.arena.allocate(DType::f32, {frames, width});
        const Tensor keys = pass.camera_cache.keys(iteration, i);
        const Tensor values = pass.camera_cache.values(iteration, i);
        // The frames of a pass are the tokens of one frame here.
        backend.linear_heads(in, block.qkv, 1, head_split(block, config.camera_num_heads, width, rotary), scratch, q,
                             {.keys = keys, .values = values, .places = pass.inputs.camera_place});
        pass.attention.over_rows(q, keys, values, pass.inputs.camera_count, config.camera_num_heads, out);
      });
    }
    backend.layer_norm(y, weights.trunk_norm, embedded);
    backend.linear(embedded, weights.fc1, Activation::gelu, hidden);
    backend.linear(hidden, weights.fc2, Activation::add_to_target, pose);
  }
}

}  // namespace lingbot_map
