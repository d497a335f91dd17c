#include "session/stream_state.hpp"

#include <algorithm>

namespace lingbot_map {

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
              .special_tokens = static_cast<int>(grid.specials)}),
      store_({.layers = network.config().depth,
              .slot_tokens = cache_.slot_tokens(),
              .width = network.config().embed_dim,
              .dtype = dtype},
             backend.growing_memory()),
      camera_(options.camera_iterations, network.config().camera_trunk_depth,
              2 * std::int64_t{network.config().embed_dim}, backend.growing_memory()) {}

PassResult StreamState::run(Role role, const Tensor& images, Arena& arena, StageTimes& times) {
  const std::int64_t frames = images.dim(0);
  const std::int64_t first_frame = cache_.frames_kept();
  std::vector<FrameSpan> spans;
  std::vector<TokenVariant> variants(static_cast<std::size_t>(frames),
                                     role == Role::scale ? TokenVariant::scale : TokenVariant::streamed);
  if (role == Role::scale) {
    spans = cache_.append_scale_frames(static_cast<int>(frames));
    variants.front() = TokenVariant::first;
  } else {
    spans = {cache_.begin_frame(role == Role::keyframe ? FrameRole::keyframe : FrameRole::passing)};
  }
  store_.prepare(cache_.visible());
  camera_.prepare(frames);
  attention_.plan(cache_);
  Pass pass{.backend = backend_,
            .attention = attention_,
            .store = store_,
            .camera_cache = camera_,
            .arena = arena,
            .tables = tables_,
            .times = times,
            .dtype = dtype_,
            .camera_iterations = options_.camera_iterations,
            .images = images,
            .variants = variants,
            .spans = spans,
            .first_frame = first_frame,
            .first_camera_frame = camera_frames_seen_};
  const PassResult result = network_.forward(pass);
  if (role == Role::scale || role == Role::keyframe) camera_.commit(frames);
  if (role == Role::keyframe) cache_.commit();
  if (role == Role::non_keyframe || role == Role::query) cache_.roll_back();
  if (role != Role::query) camera_frames_seen_ += frames;
  return result;
}

void StreamState::prefill(std::int64_t keyframes) {
  const TwoStreamCache::Layout& layout = cache_.layout();
  const std::int64_t model_patch = cache_.visible().first_token;
  const std::int64_t model_special = cache_.visible().end() - layout.special_tokens;
  for (std::int64_t i = 0; i < keyframes; ++i) {
    const FrameSpan span = cache_.begin_frame(FrameRole::keyframe);
    store_.prepare(cache_.visible());
    camera_.prepare(1);
    for (int layer = 0; layer < store_.shape().layers; ++layer) {
      for (const Tensor& plane : {store_.keys(layer), store_.values(layer)}) {
        backend_.copy(plane.rows(model_patch, layout.patches_per_frame),
                      plane.rows(span.patch_token, layout.patches_per_frame));
        backend_.copy(plane.rows(model_special, layout.special_tokens),
                      plane.rows(span.special_token, layout.special_tokens));
      }
    }
    for (int iteration = 0; iteration < options_.camera_iterations; ++iteration) {
      for (int block = 0; block < network_.config().camera_trunk_depth; ++block) {
        for (const Tensor& plane : {camera_.keys(iteration, block), camera_.values(iteration, block)}) {
          backend_.copy(plane.rows(0, 1), plane.rows(camera_.frames(), 1));
        }
      }
    }
    camera_.commit(1);
    cache_.commit();
  }
}

std::size_t StreamState::slot_bytes() const noexcept {
  return static_cast<std::size_t>(cache_.slot_tokens()) * store_.bytes_per_token();
}

std::size_t StreamState::bytes_per_kept_frame() const noexcept {
  return static_cast<std::size_t>(tables_.grid.specials) * store_.bytes_per_token() + camera_.bytes_per_frame();
}

}  // namespace lingbot_map
