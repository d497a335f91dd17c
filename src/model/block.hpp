#pragma once

#include "model/pass.hpp"

namespace lingbot_map {

/// A pre-norm transformer block on x float32 [n, C], in place:
///     x += projection(attend(qkv(norm1(x))));  x += fc2(gelu(fc1(norm2(x))))
/// `attend(x [n, C], scratch float32 [n, 3C], out [n, C])` makes the heads of x and attends, and out may be x; `dtype`
/// is the type of everything between products.
template <typename Attend>
void run_block(Pass& pass, const BlockWeights& weights, DType dtype, const Tensor& x, const Attend& attend) {
  const Arena::Scope scope(pass.arena);
  const std::int64_t rows = x.dim(0);
  const std::int64_t width = x.dim(1);
  const Tensor normed = pass.arena.allocate(dtype, {rows, width});
  pass.backend.layer_norm(x, weights.norm1, normed);
  {
    const Arena::Scope attention_scope(pass.arena);
    attend(normed, pass.arena.allocate(DType::f32, {rows, 3 * width}), normed);
    pass.backend.linear(normed, weights.projection, Activation::add_to_target, x);
  }
  pass.backend.layer_norm(x, weights.norm2, normed);
  const Tensor hidden = pass.arena.allocate(dtype, {rows, weights.fc1.weight->out()});
  pass.backend.linear(normed, weights.fc1, Activation::gelu, hidden);
  pass.backend.linear(hidden, weights.fc2, Activation::add_to_target, x);
}

/// How the heads of a block are made.
[[nodiscard]] inline HeadSplit head_split(const BlockWeights& weights, int heads, std::int64_t width,
                                          const Rotary& rotary) {
  return {.heads = heads,
          .head_dim = static_cast<int>(width / heads),
          .q_norm = weights.q_norm ? &*weights.q_norm : nullptr,
          .k_norm = weights.k_norm ? &*weights.k_norm : nullptr,
          .rotary = rotary};
}

/// The attention of a block whose frames each see only themselves; x and out are [frames * tokens, C].
inline void attend_within_frames(Pass& pass, const BlockWeights& weights, int heads, const Rotary& rotary,
                                 const Tensor& x, const Tensor& scratch, const Tensor& out) {
  const std::int64_t rows = out.dim(0);
  const std::int64_t width = out.dim(1);
  const Tensor q = pass.arena.allocate(out.dtype(), {rows, width});
  const Tensor k = pass.arena.allocate(out.dtype(), {rows, width});
  const Tensor v = pass.arena.allocate(out.dtype(), {rows, width});
  pass.backend.linear_heads(x, weights.qkv, pass.frames(), head_split(weights, heads, width, rotary), scratch, q,
                            {.keys = k, .values = v});
  pass.attention.within_frames(q, k, v, static_cast<int>(pass.frames()), heads, out);
}

}  // namespace lingbot_map
