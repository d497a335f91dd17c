#include "lingbot_map/session.hpp"

#include <algorithm>
#include <optional>

#include "model/model_impl.hpp"
#include "session/measuring.hpp"
#include "session/stream_state.hpp"

namespace lingbot_map {
namespace {

void check_options(const SessionOptions& options) {
  const auto positive = [](int value, const char* name) {
    if (value < 1) fail(ErrorCode::usage, name, " is ", value, ": expected 1 or more");
  };
  positive(options.scale_frames, "scale_frames");
  positive(options.window, "window");
  positive(options.keyframe_interval, "keyframe_interval");
  positive(options.camera_iterations, "camera_iterations");
}

Tensor allocate_images(Arena& arena, std::int64_t frames, const FrameGrid& grid) {
  return arena.allocate(DType::u8, {frames, grid.height, grid.width, 3});
}

struct Measured {
  std::size_t scale_arena = 0;   ///< bytes of the scale pass
  std::size_t stream_arena = 0;  ///< bytes of one streamed frame
  std::size_t slots = 0;
  std::size_t per_kept_frame = 0;
};

/// Runs a scale pass and a streamed frame without memory.
Measured measure(const Network& network, const SessionOptions& options, DType dtype, const FrameGrid& grid,
                 std::int64_t scale_frames) {
  MeasuringBackend backend;
  MeasuringAttention attention;
  StreamState state(network, options, backend, attention, dtype, grid);
  StageTimes times;
  Arena scale;
  (void)state.run(StreamState::Role::scale, allocate_images(scale, scale_frames, grid), scale, times);
  Arena stream;
  (void)state.run(StreamState::Role::keyframe, allocate_images(stream, 1, grid), stream, times);
  return {scale.peak(), stream.peak(), state.slot_bytes(), state.bytes_per_kept_frame()};
}

}  // namespace

class Session::Impl {
 public:
  Impl(const Model& model, const SessionOptions& options)
      : model_(model.impl()),
        options_(options),
        attention_(make_attention(model_->backend(), options.attention, model_->dtype())) {
    check_options(options);
  }

  std::vector<FrameResult> push(const Image& frame) {
    admit(frame);
    if (!streaming_) {
      waiting_.push_back(frame);
      return static_cast<int>(waiting_.size()) < options_.scale_frames ? std::vector<FrameResult>() : run_scale_pass();
    }
    const bool keyframe = (pushed_ - options_.scale_frames) % options_.keyframe_interval == 0;
    std::vector<FrameResult> results =
        run({&frame, 1}, keyframe ? StreamState::Role::keyframe : StreamState::Role::non_keyframe);
    ++pushed_;
    return results;
  }

  FrameResult query(const Image& frame) {
    admit(frame);
    if (!streaming_) {
      fail(ErrorCode::usage, "a query after ", waiting_.size(), " of ", options_.scale_frames,
           " scale frames: the scale pass must be complete first");
    }
    return std::move(run({&frame, 1}, StreamState::Role::query).front());
  }

  std::vector<FrameResult> finish() {
    std::vector<FrameResult> results;
    if (!finished_ && !failed_ && !waiting_.empty()) results = run_scale_pass();
    finished_ = true;
    return results;
  }

  [[nodiscard]] CacheStats cache_stats() const {
    if (state_) return state_->cache().statistics();
    CacheStats empty;
    empty.free_pages = options_.scale_frames + options_.window + 1;
    return empty;
  }
  [[nodiscard]] std::size_t cache_bytes() const { return state_ ? state_->bytes_in_use() : 0; }
  [[nodiscard]] const StageTimes& times() const { return times_; }
  [[nodiscard]] AttentionKind attention() const { return attention_->kind(); }

 private:
  void admit(const Image& frame) {
    if (finished_) fail(ErrorCode::usage, "a frame after finish(): start a new session");
    if (failed_) fail(ErrorCode::usage, "a frame after a failed one: start a new session");
    const FrameGrid grid(model_->network().config(), frame.width, frame.height);
    if (grid_ && (frame.width != grid_->width || frame.height != grid_->height)) {
      fail(ErrorCode::usage, "a frame of ", frame.width, "x", frame.height, " pixels in a session of ", grid_->width,
           "x", grid_->height, ": all frames of a session have one size");
    }
    if (frame.pixels.size() != static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height) * 3) {
      fail(ErrorCode::usage, "a frame of ", frame.width, "x", frame.height, " pixels with ", frame.pixels.size(),
           " bytes: expected width * height * 3");
    }
    grid_ = grid;
  }

  std::vector<FrameResult> run_scale_pass() {
    const auto frames = static_cast<std::int64_t>(waiting_.size());
    const Measured measured = measure(model_->network(), options_, model_->dtype(), *grid_, frames);
    state_.emplace(model_->network(), options_, model_->backend(), *attention_, model_->dtype(), *grid_);
    arena_ = Arena(model_->backend().allocate(measured.scale_arena));
    std::vector<FrameResult> results = run(waiting_, StreamState::Role::scale);
    pushed_ = frames;
    waiting_ = {};
    streaming_ = true;
    // The first pass is many frames at once: from here on one frame's memory is enough.
    arena_ = Arena();
    arena_ = Arena(model_->backend().allocate(measured.stream_arena));
    return results;
  }

  std::vector<FrameResult> run(std::span<const Image> images, StreamState::Role role) {
    failed_ = true;  // until the pass is through: an exception leaves the caches in the middle of it
    const Arena::Scope scope(arena_);
    const Tensor input = allocate_images(arena_, static_cast<std::int64_t>(images.size()), *grid_);
    for (std::size_t i = 0; i < images.size(); ++i) {
      model_->backend().upload(std::as_bytes(std::span(images[i].pixels)), input.rows(static_cast<std::int64_t>(i), 1));
    }
    const PassResult pass = state_->run(role, input, arena_, times_);
    std::vector<FrameResult> results;
    results.reserve(images.size());
    for (std::size_t i = 0; i < images.size(); ++i) results.push_back(take(pass, static_cast<std::int64_t>(i), role));
    failed_ = false;
    return results;
  }

  [[nodiscard]] FrameResult take(const PassResult& pass, std::int64_t frame, StreamState::Role role) const {
    FrameResult result;
    result.index = role == StreamState::Role::scale ? frame : pushed_;
    result.type = role == StreamState::Role::scale      ? FrameType::scale
                  : role == StreamState::Role::keyframe ? FrameType::keyframe
                                                        : FrameType::non_keyframe;
    result.width = static_cast<int>(grid_->width);
    result.height = static_cast<int>(grid_->height);
    const auto download = [&](const Tensor& source, std::vector<float>& target) {
      if (source.empty()) return;
      target.resize(static_cast<std::size_t>(source.row_elements()));
      model_->backend().download(source.rows(frame, 1), std::as_writable_bytes(std::span(target)));
    };
    model_->backend().download(pass.pose.rows(frame, 1), std::as_writable_bytes(std::span(result.pose_enc)));
    result.pose_enc[7] = std::max(result.pose_enc[7], 0.0F);
    result.pose_enc[8] = std::max(result.pose_enc[8], 0.0F);
    download(pass.depth, result.depth);
    download(pass.depth_conf, result.depth_conf);
    download(pass.world_points, result.world_points);
    download(pass.world_points_conf, result.world_points_conf);
    return result;
  }

  std::shared_ptr<const Model::Impl> model_;
  SessionOptions options_;
  std::unique_ptr<Attention> attention_;
  std::optional<FrameGrid> grid_;  ///< of the first frame
  std::vector<Image> waiting_;     ///< scale frames until there are enough
  std::optional<StreamState> state_;
  Arena arena_;
  StageTimes times_;
  std::int64_t pushed_ = 0;  ///< frames run, queries not counted
  bool streaming_ = false;   ///< the scale pass is done
  bool finished_ = false;
  bool failed_ = false;
};

Session::Session(const Model& model, const SessionOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<FrameResult> Session::push(const Image& frame) { return impl_->push(frame); }
FrameResult Session::query(const Image& frame) { return impl_->query(frame); }
std::vector<FrameResult> Session::finish() { return impl_->finish(); }
CacheStats Session::cache_stats() const { return impl_->cache_stats(); }
std::size_t Session::cache_bytes() const { return impl_->cache_bytes(); }
const StageTimes& Session::stage_times() const { return impl_->times(); }
AttentionKind Session::attention() const { return impl_->attention(); }

MemoryPlan Session::plan(const Model& model, const SessionOptions& options, int width, int height) {
  check_options(options);
  const FrameGrid grid(model.config(), width, height);
  const Measured measured = measure(model.impl()->network(), options, model.dtype(), grid, options.scale_frames);
  return {.weights = model.weight_bytes(),
          .cache_slots = measured.slots,
          .per_kept_frame = measured.per_kept_frame,
          .activations = std::max(measured.scale_arena, measured.stream_arena)};
}

}  // namespace lingbot_map
