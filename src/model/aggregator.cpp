#include "model/aggregator.hpp"

#include <algorithm>

#include "model/block.hpp"
#include "model/encoder.hpp"

namespace lingbot_map {
void aggregate(Pass& pass, const Config& config, const AggregatorWeights& weights, const std::array<Tensor, 4>& taps) {
  const Arena::Scope scope(pass.arena);
  const FrameGrid& grid = pass.tables.grid;
  const std::int64_t width = config.embed_dim;
  const std::int64_t frames = pass.frames();
  const Tensor x = pass.arena.allocate(DType::f32, {frames * grid.tokens(), width});
  const Tensor special = weights.special_tokens.view(DType::f32, {kTokenVariants * grid.specials, width});
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    const auto variant = static_cast<std::int64_t>(pass.variants[static_cast<std::size_t>(frame)]);
    pass.backend.copy(special.rows(variant * grid.specials, grid.specials),
                      x.rows(frame * grid.tokens(), grid.specials));
  }
  encode(pass, config, weights.encoder, grid.specials, x.reshape({frames, grid.tokens(), width}));

  const Rotary in_frame{.spatial = pass.tables.rotary_2d.view(DType::f32, {grid.tokens(), 32, 2})};
  const Rotary in_sequence{.temporal = pass.inputs.rotary_time,
                           .spatial = pass.tables.rotary_3d.view(DType::f32, {grid.tokens(), 22, 2}),
                           .interleaved = true};
  for (int group = 0; group < config.depth; ++group) {
    const auto* const selected = std::ranges::find(config.selected_layers, group);
    const bool tapped = selected != config.selected_layers.end();
    const Tensor tap = tapped ? taps[static_cast<std::size_t>(selected - config.selected_layers.begin())] : Tensor();
    {
      const StageTimer timer(pass.clock, pass.times.frame_attention);
      const BlockWeights& block = weights.frame_blocks[static_cast<std::size_t>(group)];
      run_block(pass, block, pass.dtype, x, [&](const Tensor& in, const Tensor& scratch, const Tensor& out) {
        attend_within_frames(pass, block, config.num_heads, in_frame, in, scratch, out);
      });
      if (tapped) pass.backend.copy(x, tap.columns(0, width));
    }
    const StageTimer timer(pass.clock, pass.times.global_attention);
    const BlockWeights& block = weights.global_blocks[static_cast<std::size_t>(group)];
    run_block(pass, block, pass.dtype, x, [&](const Tensor& in, const Tensor& scratch, const Tensor& out) {
      const Tensor q = pass.arena.allocate(pass.dtype, {x.dim(0), width});
      pass.backend.linear_heads(in, block.qkv, frames, head_split(block, config.num_heads, width, in_sequence), scratch,
                                q,
                                {.keys = pass.store.keys(group),
                                 .values = pass.store.values(group),
                                 .places = pass.inputs.places,
                                 .specials = grid.specials});
      pass.attention.run(pass.store, group, q, config.num_heads, out);
    });
    if (tapped) pass.backend.copy(x, tap.columns(width, width));
  }
}

}  // namespace lingbot_map
