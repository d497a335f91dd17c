#include "lingbot_map/session.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <optional>

#include "lingbot_map/collapse_watch.hpp"
#include "model/model_impl.hpp"
#include "session/checks.hpp"
#include "session/flow_keyframes.hpp"
#include "session/measured_stream.hpp"
#include "session/pass_results.hpp"
#include "session/saved_state.hpp"
#include "session/saved_windows.hpp"
#include "session/stream_state.hpp"

namespace lingbot_map {
namespace {

FrameType type_of(StreamState::Role role) {
  switch (role) {
    case StreamState::Role::scale: return FrameType::scale;
    case StreamState::Role::keyframe: return FrameType::keyframe;
    default: return FrameType::non_keyframe;
  }
}

}  // namespace

class Session::Impl {
 public:
  Impl(const Model& model, const SessionOptions& options)
      : model_(model.impl()),
        options_(options),
        attention_(make_attention(model_->backend(), options.attention, model_->dtype(),
                                  model_->network().config().num_heads)) {
    check_options(options);
    if (options.flow_threshold > 0) flow_.emplace(options.flow_threshold, options.max_non_keyframe_gap);
  }

  void submit(const Image& frame) {
    admit(frame);
    if (!streaming_) {
      waiting_.push_back(frame);
      if (static_cast<int>(waiting_.size()) < options_.scale_frames) {
        results_.emplace_back();
      } else {
        run_scale_pass();
      }
      return;
    }
    run({&frame, 1}, role_of_next());
    ++pushed_;
  }

  std::vector<FrameResult> collect() {
    if (results_.empty() && !on_their_way_.empty()) fetch();
    if (results_.empty()) return {};
    std::vector<FrameResult> oldest = std::move(results_.front());
    results_.pop_front();
    return oldest;
  }

  [[nodiscard]] int in_flight() const noexcept { return static_cast<int>(results_.size() + on_their_way_.size()); }

  std::vector<FrameResult> push(const Image& frame) {
    submit(frame);
    return collect_all();
  }

  FrameResult query(const Image& frame) {
    admit(frame);
    if (!streaming_) {
      fail(ErrorCode::usage, "a query after ", waiting_.size(), " of ", options_.scale_frames,
           " scale frames: the scale pass must be complete first");
    }
    run({&frame, 1}, StreamState::Role::query);
    while (!on_their_way_.empty()) fetch();
    FrameResult result = std::move(results_.back().front());
    results_.pop_back();
    return result;
  }

  void prefill(std::int64_t keyframes) {
    if (!streaming_) fail(ErrorCode::usage, "prefill: the scale pass must be complete first");
    if (keyframes < 0) fail(ErrorCode::usage, "prefill: found ", keyframes, " keyframes, expected 0 or more");
    if (flow_) fail(ErrorCode::usage, "prefill: frames that are kept by flow cannot be made up");
    state_->prefill(keyframes);
  }

  std::vector<FrameResult> finish() {
    if (!finished_ && !failed_ && !streaming_ && !waiting_.empty()) run_scale_pass();
    finished_ = true;
    return collect_all();
  }

  void save(StateWriter& state) const {
    require_at_rest();
    save_identity(state, *model_, options_);
    state.put("frame.width", grid_ ? grid_->width : 0);
    state.put("frame.height", grid_ ? grid_->height : 0);
    state.put("frames", frames_pushed());
    state.put("streaming", streaming_);
    if (streaming_) state_->save(state);
    if (streaming_ && flow_) flow_->save(state);
    for (std::size_t i = 0; i < waiting_.size(); ++i) save_image(state, "waiting", i, waiting_[i]);
  }

  void restore(StateReader& state) {
    check_identity(state, *model_, options_);
    grid_ = saved_grid(state, model_->network().config());
    const bool streaming = state.fields().flag("streaming");
    const std::int64_t most = streaming ? std::int64_t{1} << 40 : options_.scale_frames - 1;
    const std::int64_t frames = state.fields().integer("frames", streaming ? 1 : 0, most);
    if (frames > 0 && !grid_) state.refuse("it has frames without a size");
    if (streaming) {
      prepare(options_.scale_frames);
      state_->restore(state);
      if (flow_) flow_->restore(state);
      begin_streaming();
      pushed_ = frames;
    } else {
      while (std::ssize(waiting_) < frames)
        waiting_.push_back(restore_image(state, "waiting", waiting_.size(), *grid_));
    }
  }

  [[nodiscard]] const Model::Impl& model() const noexcept { return *model_; }
  [[nodiscard]] std::int64_t frames_pushed() const noexcept {
    return streaming_ ? pushed_ : static_cast<std::int64_t>(waiting_.size());
  }

  void reset() {
    while (!on_their_way_.empty()) fetch();
    if (state_) state_->clear();
    recorded_ = {};  // they work in the arena
    ways_.clear();
    next_way_ = 0;
    arena_ = Arena();
    waiting_.clear();
    results_.clear();
    pushed_ = 0;
    streaming_ = false;
    finished_ = false;
    failed_ = false;
  }

  [[nodiscard]] CacheStats cache_stats() const {
    if (state_) return state_->cache().statistics();
    CacheStats empty;
    empty.free_pages = options_.scale_frames + options_.window + 1;
    return empty;
  }
  [[nodiscard]] std::size_t cache_bytes() const { return state_ ? state_->bytes_in_use() : 0; }
  [[nodiscard]] const StageTimes& times() const { return times_; }
  [[nodiscard]] const Attention& attention() const { return *attention_; }

 private:
  void admit(const Image& frame) {
    if (finished_) fail(ErrorCode::usage, "a frame after finish(): start a new session");
    if (failed_) fail(ErrorCode::usage, "a frame after a failed one: start a new session");
    grid_ = checked_grid(model_->network().config(), frame, grid_);
  }

  std::vector<FrameResult> collect_all() {
    std::vector<FrameResult> all;
    while (in_flight() > 0) {
      std::vector<FrameResult> some = collect();
      all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return all;
  }

  void require_at_rest() const {
    if (failed_) fail(ErrorCode::usage, "save after a failed frame: the session cannot go on");
    if (finished_) fail(ErrorCode::usage, "save after finish(): the session takes no further frame");
    if (in_flight() > 0) {
      fail(ErrorCode::usage, "save with ", in_flight(), " frames on their way: collect() their results first");
    }
  }

  [[nodiscard]] StreamState::Role role_of_next() const noexcept {
    if (flow_) return StreamState::Role::candidate;
    const bool keyframe = (pushed_ - options_.scale_frames) % options_.keyframe_interval == 0;
    return keyframe ? StreamState::Role::keyframe : StreamState::Role::non_keyframe;
  }

  /// Makes what passes over frames of this size need, the first one over so many scale frames.
  void prepare(std::int64_t scale_frames) {
    if (measured_frames_ != scale_frames) {
      measured_ = measure_stream(model_->network(), options_, model_->dtype(), *grid_, scale_frames);
      measured_frames_ = scale_frames;
    }
    if (state_) return;
    Backend& backend = model_->backend();
    state_.emplace(model_->network(), options_, backend, *attention_, model_->dtype(), *grid_);
    if (options_.profile || backend.device().kind == Device::Kind::cpu) clock_ = backend.make_clock();
  }

  void run_scale_pass() {
    const auto frames = static_cast<std::int64_t>(waiting_.size());
    prepare(frames);
    arena_ = Arena(model_->backend().allocate(measured_.scale_arena));
    ways_.push_back(make_way(frames));
    run(waiting_, StreamState::Role::scale);
    fetch();
    pushed_ = frames;
    waiting_ = {};
    begin_streaming();
  }

  void begin_streaming() {
    streaming_ = true;
    // The first pass is many frames at once: from here on one frame's memory is enough.
    arena_ = Arena();
    arena_ = Arena(model_->backend().allocate(measured_.stream_arena));
    ways_.clear();
    next_way_ = 0;
    const int most_on_their_way = flow_ ? 1 : kMostOnTheirWay;  // a frame that is not judged holds back the next one
    for (int i = 0; i < most_on_their_way; ++i) ways_.push_back(make_way(1));
  }

  [[nodiscard]] std::unique_ptr<Transfer> make_way(std::int64_t frames) const {
    return model_->backend().make_transfer(PassInputs::bytes(frames, *grid_),
                                           result_bytes(frames, *grid_, model_->network().has_points()));
  }

  /// Sends one pass on its way.
  void run(std::span<const Image> images, StreamState::Role role) {
    if (on_their_way_.size() == ways_.size()) fetch();
    failed_ = true;  // until the pass is under way: an exception leaves the caches in the middle of it
    const auto frames = static_cast<std::int64_t>(images.size());
    Transfer& way = *ways_[next_way_];
    const std::span<std::byte> host = way.input();
    const Tensor block(host.data(), DType::u8, {static_cast<std::int64_t>(PassInputs::bytes(frames, *grid_))});
    state_->begin(role, frames, block);
    auto* pixels = PassInputs::in(block, frames, *grid_).images.data<std::uint8_t>();
    for (const Image& image : images) pixels = std::ranges::copy(image.pixels, pixels).out;

    const Arena::Scope scope(arena_);
    const Tensor inputs = arena_.allocate(DType::u8, {block.dim(0)});
    way.send(inputs);
    const PassResult pass = compute(role, inputs);
    std::vector<Tensor> outputs = {pass.pose, pass.depth, pass.depth_conf};
    if (!pass.world_points.empty()) outputs.insert(outputs.end(), {pass.world_points, pass.world_points_conf});
    way.receive(outputs);
    state_->end();
    on_their_way_.push_back({next_way_, role, role == StreamState::Role::scale ? 0 : pushed_, frames});
    next_way_ = (next_way_ + 1) % ways_.size();
    failed_ = false;
  }

  /// Runs the pass that was begun, from a recording where one fits. A signature that comes back is worth recording; one
  /// that is new each time, as while the window fills, is not.
  PassResult compute(StreamState::Role role, const Tensor& inputs) {
    const auto forward = [&] { return state_->run(inputs, arena_, times_, clock_.get()); };
    if (!options_.graphs || clock_ || role == StreamState::Role::scale) return forward();
    const std::uint64_t signature = state_->signature();
    Recorded& recorded = recorded_[role == StreamState::Role::keyframe ? 0 : 1];
    if (recorded.signature != signature) {
      recorded = {.signature = signature};
      return forward();
    }
    if (!recorded.recording) recorded.recording = model_->backend().record([&] { recorded.result = forward(); });
    if (!recorded.recording) return forward();
    model_->backend().replay(*recorded.recording);
    return recorded.result;
  }

  /// Waits for the oldest pass on its way.
  void fetch() {
    const OnItsWay oldest = on_their_way_.front();
    on_their_way_.pop_front();
    const std::span<const std::byte> bytes = ways_[oldest.way]->output();
    if (clock_) clock_->settle();
    std::vector<FrameResult> results =
        results_of(bytes, oldest.first, oldest.frames, type_of(oldest.role), *grid_, model_->network().has_points());
    if (oldest.role == StreamState::Role::candidate) judge(results.front());
    if (flow_ && oldest.role == StreamState::Role::scale) flow_->start(results.back());
    results_.push_back(std::move(results));
  }

  /// Settles what becomes of a frame whose results are there.
  void judge(FrameResult& result) {
    const bool keep = flow_->judge(result);
    state_->settle(keep);
    result.type = keep ? FrameType::keyframe : FrameType::non_keyframe;
  }

  /// Passes that the device may have before it: one to work on and one to begin when that is done.
  static constexpr int kMostOnTheirWay = 2;
  struct OnItsWay {
    std::size_t way;
    StreamState::Role role;
    std::int64_t first;  ///< index of the first frame
    std::int64_t frames;
  };
  struct Recorded {
    std::uint64_t signature = 0;
    std::unique_ptr<Recording> recording{};
    PassResult result{};
  };

  std::shared_ptr<const Model::Impl> model_;
  SessionOptions options_;
  std::unique_ptr<Attention> attention_;
  std::optional<FrameGrid> grid_;      ///< of the first frame
  std::vector<Image> waiting_;         ///< scale frames until there are enough
  std::optional<FlowKeyframes> flow_;  ///< set when frames are kept by flow
  MeasuredStream measured_;            ///< for a scale pass of measured_frames_
  std::int64_t measured_frames_ = 0;
  std::optional<StreamState> state_;
  Arena arena_;
  std::vector<std::unique_ptr<Transfer>> ways_;
  std::size_t next_way_ = 0;
  std::deque<OnItsWay> on_their_way_;
  std::deque<std::vector<FrameResult>> results_;  ///< of each submitted frame, fetched and not yet collected
  std::array<Recorded, 2> recorded_;              ///< of keyframes, and of frames that leave no trace
  std::unique_ptr<StageClock> clock_;
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
void Session::submit(const Image& frame) { impl_->submit(frame); }
std::vector<FrameResult> Session::collect() { return impl_->collect(); }
int Session::in_flight() const noexcept { return impl_->in_flight(); }
FrameResult Session::query(const Image& frame) { return impl_->query(frame); }
void Session::prefill(std::int64_t keyframes) { impl_->prefill(keyframes); }
std::vector<FrameResult> Session::finish() { return impl_->finish(); }
void Session::save(const std::filesystem::path& path, const CollapseWatch* watch) const {
  StateWriter state = state_writer(impl_->model(), path);
  save(state);
  if (watch != nullptr) watch->save(state);
  state.finish();
}
void Session::save(StateWriter& state) const { impl_->save(state); }

Session Session::restore(const Model& model, const SessionOptions& options, const std::filesystem::path& path) {
  Session session(model, options);
  StateReader state = state_reader(session.impl_->model(), path);
  refuse_windows(state);
  session.restore(state);
  return session;
}
void Session::restore(StateReader& state) { impl_->restore(state); }

std::int64_t Session::frames_pushed() const noexcept { return impl_->frames_pushed(); }
void Session::reset() { impl_->reset(); }
CacheStats Session::cache_stats() const { return impl_->cache_stats(); }
std::size_t Session::cache_bytes() const { return impl_->cache_bytes(); }
const StageTimes& Session::stage_times() const { return impl_->times(); }
AttentionKind Session::attention() const { return impl_->attention().kind(); }
std::string Session::attention_description() const { return impl_->attention().description(); }

MemoryPlan Session::plan(const Model& model, const SessionOptions& options, int width, int height) {
  check_options(options);
  const FrameGrid grid(model.config(), width, height);
  const MeasuredStream measured =
      measure_stream(model.impl()->network(), options, model.dtype(), grid, options.scale_frames);
  const Backend::Overhead overhead = model.impl()->backend().overhead(grid.width * grid.height, model.dtype());
  return {.weights = model.weight_bytes(),
          .cache_slots = measured.slots,
          .per_kept_frame = measured.per_kept_frame,
          .activations = std::max(measured.scale_arena, measured.stream_arena),
          .workspace = overhead.workspace,
          .context = overhead.context};
}

}  // namespace lingbot_map
