#include "model/encoder.hpp"

#include "model/block.hpp"

namespace lingbot_map {

void encode(Pass& pass, const Config& config, const EncoderWeights& weights, std::int64_t first, const Tensor& target) {
  const StageTimer timer(pass.clock, pass.times.encoder);
  const Arena::Scope scope(pass.arena);
  const std::int64_t width = config.embed_dim;
  const std::int64_t prefix = 1 + config.num_register_tokens;
  const std::int64_t patches = pass.tables.grid.patches();
  const std::int64_t tokens = prefix + patches;
  const std::int64_t frames = pass.frames();

  const Tensor x = pass.arena.allocate(DType::f32, {frames * tokens, width});
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    pass.backend.copy(weights.prefix.view(DType::f32, {prefix, width}), x.rows(frame * tokens, prefix));
  }
  pass.backend.embed_patches(pass.inputs.images, config.patch_size, weights.patch,
                             pass.tables.positions.view(DType::f32, {patches, width}), prefix,
                             x.reshape({frames, tokens, width}));
  for (const BlockWeights& block : weights.blocks) {
    run_block(pass, block, pass.dtype, x, [&](const Tensor& in, const Tensor& scratch, const Tensor& out) {
      attend_within_frames(pass, block, config.num_heads, {}, in, scratch, out);
    });
  }
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    const Tensor row = target.rows(frame, 1).reshape({target.dim(1), width});
    pass.backend.layer_norm(x.rows(frame * tokens + prefix, patches), weights.norm, row.rows(first, patches));
  }
}

}  // namespace lingbot_map
