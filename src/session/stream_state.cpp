#include "session/stream_state.hpp"

#include <algorithm>

namespace lingbot_map {
namespace {

KeepDecision decision_of(const SessionOptions& options) {
  return options.flow_threshold > 0 ? KeepDecision::after_attention : KeepDecision::before_attention;
}

FrameRole cache_role(StreamState::Role role) {
  switch (role) {
    case StreamState::Role::keyframe: return FrameRole::keyframe;
    case StreamState::Role::candidate: return FrameRole::candidate;
    default: return FrameRole::passing;
  }
}

}  // namespace

StreamState::StreamState(const Network& network, const SessionOptions& options, Backend& backend, Attention& attention,
                         DType dtype, const FrameGrid& grid)
    : network_(network),
      options_(options),
      backend_(backend),
      attention_(attention),
      dtype_(dtype),
      tables_(network.make_tables(backend, grid)),
      cache_({.scale_frames = options.scale_frames,
              .window = options.window,
              .patches_per_frame = static_cast<int>(grid.patches()),
              .special_tokens = static_cast<int>(grid.specials),
              .trajectory_memory = options.trajectory_memory},
             decision_of(options)),
      store_({.layers = network.config().depth,
              .slot_tokens = cache_.slot_tokens(),
              .width = network.config().embed_dim,
              .dtype = dtype},
             backend.growing_memory()),
      camera_(options.camera_iterations, network.config().camera_trunk_depth,
              2 * std::int64_t{network.config().embed_dim}, backend.growing_memory()) {}

void StreamState::begin(Role role, std::int64_t frames, const Tensor& host) {
  role_ = role;
  variants_.assign(static_cast<std::size_t>(frames),
                   role == Role::scale ? TokenVariant::scale : TokenVariant::streamed);
  const std::int64_t first_frame = cache_.frames_kept();
  std::vector<FrameSpan> spans;
  if (role == Role::scale) {
    spans = cache_.append_scale_frames(static_cast<int>(frames));
    variants_.front() = TokenVariant::first;
  } else {
    spans = {cache_.begin_frame(cache_role(role))};
  }
  store_.prepare(cache_.visible(), attention_.touched(cache_.visible()).end());
  camera_.prepare(frames);
  attention_.plan(cache_, frames * tables_.grid.tokens());
  write_position({.spans = spans,
                  .first_frame = first_frame,
                  .first_camera_frame = camera_frames_seen_,
                  .camera_rows = camera_.frames()},
                 PassInputs::in(host, frames, tables_.grid));
}

PassResult StreamState::run(const Tensor& inputs, Arena& arena, StageTimes& times, StageClock* clock) {
  Pass pass{.backend = backend_,
            .attention = attention_,
            .store = store_,
            .camera_cache = camera_,
            .arena = arena,
            .tables = tables_,
            .times = times,
            .clock = clock,
            .dtype = dtype_,
            .camera_iterations = options_.camera_iterations,
            .inputs = PassInputs::in(inputs, static_cast<std::int64_t>(variants_.size()), tables_.grid),
            .variants = variants_};
  return network_.forward(pass);
}

void StreamState::end() {
  const auto frames = static_cast<std::int64_t>(variants_.size());
  if (role_ == Role::scale || role_ == Role::keyframe) camera_.commit(frames);
  if (role_ == Role::keyframe) cache_.commit();
  if (role_ == Role::non_keyframe || role_ == Role::query) cache_.roll_back();
  if (role_ != Role::query) camera_frames_seen_ += frames;
}

void StreamState::settle(bool keep) {
  if (!keep) return cache_.roll_back();
  cache_.commit();
  camera_.commit(1);
}

void StreamState::clear() {
  cache_.clear();
  camera_.clear();
  camera_frames_seen_ = 0;
}

std::uint64_t StreamState::signature() const {
  std::uint64_t signature = attention_.signature();
  for (const void* base : {store_.keys(0).raw(), store_.values(store_.shape().layers - 1).raw(),
                           camera_.keys(0, 0).raw(), camera_.values(options_.camera_iterations - 1, 0).raw()}) {
    signature = signature * 0x9e3779b97f4a7c15U + reinterpret_cast<std::uintptr_t>(base);
  }
  return signature;
}

namespace {

/// Fills rows [first, end) with copies of the `count` rows at `source`, which lie before them or far away.
void repeat_rows(Backend& backend, const Tensor& plane, std::int64_t source, std::int64_t count, std::int64_t first,
                 std::int64_t end) {
  std::int64_t filled = 0;
  while (first + filled < end) {
    const std::int64_t rows = std::min(std::max(filled, count), end - first - filled);
    backend.copy(plane.rows(filled == 0 ? source : first, rows), plane.rows(first + filled, rows));
    filled += rows;
  }
}

}  // namespace

void StreamState::prefill(std::int64_t keyframes) {
  const TwoStreamCache::Layout& layout = cache_.layout();
  const std::int64_t model_patch = cache_.visible().first_token;
  const std::int64_t first_special = cache_.visible().end();
  const std::int64_t first_row = camera_.frames();
  std::vector<FrameSpan> spans;
  for (std::int64_t i = 0; i < keyframes; ++i) {
    const FrameSpan span = cache_.begin_frame(FrameRole::keyframe);
    if (i >= keyframes - layout.window) spans.push_back(span);
    cache_.commit();
  }
  if (spans.empty()) return;
  store_.prepare(cache_.visible());
  for (int layer = 0; layer < store_.shape().layers; ++layer) {
    for (const Tensor& plane : {store_.keys(layer), store_.values(layer)}) {
      for (const FrameSpan& span : spans) {
        backend_.copy(plane.rows(model_patch, layout.patches_per_frame),
                      plane.rows(span.patch_token, layout.patches_per_frame));
      }
      repeat_rows(backend_, plane, first_special - layout.special_tokens, layout.special_tokens, first_special,
                  cache_.visible().end());
    }
  }
  camera_.prepare(keyframes);
  for (int iteration = 0; iteration < options_.camera_iterations; ++iteration) {
    for (int block = 0; block < network_.config().camera_trunk_depth; ++block) {
      for (const Tensor& plane : {camera_.keys(iteration, block), camera_.values(iteration, block)}) {
        repeat_rows(backend_, plane, 0, 1, first_row, first_row + keyframes);
      }
    }
  }
  camera_.commit(keyframes);
  camera_frames_seen_ += keyframes;
}

std::size_t StreamState::slot_bytes() const noexcept {
  const std::int64_t specials = options_.trajectory_memory ? 0 : cache_.slots() * tables_.grid.specials;
  return static_cast<std::size_t>(cache_.slot_tokens() + specials) * store_.bytes_per_token();
}

std::size_t StreamState::bytes_per_kept_frame() const noexcept {
  const std::int64_t specials = options_.trajectory_memory ? tables_.grid.specials : 0;
  return static_cast<std::size_t>(specials) * store_.bytes_per_token() + camera_.bytes_per_frame();
}

}  // namespace lingbot_map
