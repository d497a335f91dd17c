#include "lingbot_map/windowed_session.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "base/message.hpp"
#include "model/model_impl.hpp"
#include "session/checks.hpp"
#include "session/saved_state.hpp"
#include "session/saved_windows.hpp"
#include "session/window_alignment.hpp"
#include "session/window_jumps.hpp"
#include "session/window_plan.hpp"

namespace lingbot_map {
namespace {

/// A full window never needs a larger sliding window than the keyframes it keeps.
SessionOptions options_of_window(const WindowedOptions& options) {
  SessionOptions session = options.session;
  session.window = std::min(session.window, std::max(options.window_size - session.scale_frames, 1));
  return session;
}

std::array<double, 16> matrix_of(const Sim3& transform) {
  const Mat3& r = transform.rotation;
  const Vec3& t = transform.translation;
  return {r[0], r[1], r[2], t[0], r[3], r[4], r[5], t[1], r[6], r[7], r[8], t[2], 0, 0, 0, 1};
}

Sim3 placed_by(const WindowRecord& window) {
  const auto& m = window.transform;
  return {.scale = window.scale,
          .rotation = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]},
          .translation = {m[3], m[7], m[11]}};
}

/// Writes a list of results and their types.
template <typename Results>
void save_results(StateWriter& state, const std::string& name, const Results& results) {
  std::vector<FrameType> types;
  for (const FrameResult& result : results) {
    save_result(state, name, types.size(), result);
    types.push_back(result.type);
  }
  state.put(name + ".types", text_of(types));
}

}  // namespace

std::string_view name_of(WindowAlignment alignment) noexcept {
  return alignment == WindowAlignment::exact ? "exact" : "robust";
}

class WindowedSession::Impl {
 public:
  Impl(const Model& model, const WindowedOptions& options)
      : model_(model), options_(options), plan_(options), session_(model, options_of_window(options)) {
    windows_.push_back({});
    jumps_.judge(windows_.front());
  }

  void submit(const Image& frame) {
    if (finished_) fail(ErrorCode::usage, "a frame after finish(): start a new session");
    if (options_.session.flow_threshold > 0) take_all();  // whether the window is full depends on the last frame's flow
    if (plan_.full(submitted_, keyframes_)) {
      grid_ = checked_grid(model_.config(), frame, grid_);
      begin_next_window();
    }
    add(frame);
  }

  std::vector<FrameResult> collect() {
    if (ready_.empty()) take(session_.collect());
    return std::exchange(ready_, {});
  }

  [[nodiscard]] int in_flight() const noexcept { return session_.in_flight() + (ready_.empty() ? 0 : 1); }

  std::vector<FrameResult> push(const Image& frame) {
    submit(frame);
    take_all();
    return std::exchange(ready_, {});
  }

  std::vector<FrameResult> finish() {
    finished_ = true;
    take(session_.finish());
    release_all(earlier_);  // only where the next window failed before its common frames were computed
    release_all(held_);
    return std::exchange(ready_, {});
  }

  void save(const std::filesystem::path& path) const {
    if (finished_) fail(ErrorCode::usage, "save after finish(): the session takes no further frame");
    if (!ready_.empty())
      fail(ErrorCode::usage, "save with ", ready_.size(),
           " final results that were not collected: collect() them first");
    StateWriter state = state_writer(*model_.impl(), path);
    save_window_options(state, options_);
    session_.save(state);
    save_windows(state, windows_);
    state.put("windows.first_frame", first_frame_);
    state.put("windows.keyframes", keyframes_);
    for (std::size_t i = 0; i < images_.size(); ++i) save_image(state, "images", i, images_[i]);
    save_results(state, kEarlier, earlier_);
    save_results(state, kLater, later_);
    save_results(state, kHeld, held_);
    state.finish();
  }

  void restore(const std::filesystem::path& path) {
    StateReader state = state_reader(*model_.impl(), path);
    check_window_options(state, options_);
    session_.restore(state);
    grid_ = saved_grid(state, model_.config());
    restore_counters(state);
    restore_placement(state);
    if (!grid_) return;
    while (std::ssize(images_) < std::min(plan_.overlap(), submitted_))
      images_.push_back(restore_image(state, "images", images_.size(), *grid_));
    restore_results(state, kEarlier, first_frame_, earlier_);
    restore_results(state, kLater, first_frame_, later_);
    restore_results(state, kHeld, first_frame_ + computed_, held_);
    require_consistent(state);
  }

  [[nodiscard]] std::int64_t frames_pushed() const noexcept { return first_frame_ + submitted_; }
  [[nodiscard]] std::int64_t frames_final() const noexcept {
    return first_frame_ + (earlier_.empty() ? computed_ - std::ssize(held_) : 0);
  }

  [[nodiscard]] const std::vector<WindowRecord>& windows() const noexcept { return windows_; }
  [[nodiscard]] std::size_t held_results() const noexcept { return held_.size() + earlier_.size() + later_.size(); }
  [[nodiscard]] const Session& session() const noexcept { return session_; }

 private:
  static constexpr const char* kEarlier = "earlier";
  static constexpr const char* kLater = "later";
  static constexpr const char* kHeld = "held";

  void restore_counters(const StateReader& state) {
    const JsonFields& fields = state.fields();
    submitted_ = session_.frames_pushed();
    computed_ = fields.flag("streaming") ? submitted_ : 0;
    first_frame_ = fields.integer("windows.first_frame", 0, std::int64_t{1} << 40);
    keyframes_ = fields.integer("windows.keyframes", 0, computed_);
  }

  /// The windows, and what follows from them.
  void restore_placement(StateReader& state) {
    windows_ = restore_windows(state);
    jumps_ = {};
    for (WindowRecord& window : windows_)
      if (window.first_frame == 0 || window.overlap > 0) jumps_.judge(window);
    world_from_window_ = placed_by(windows_.back());
  }

  /// Appends a saved list of results, of which `begin` is the index of the first one, or for held ones the end.
  template <typename Results>
  void restore_results(StateReader& state, const std::string& name, std::int64_t begin, Results& results) {
    const std::vector<FrameType> types = saved_types(state, name + ".types");
    if (name == kHeld) begin -= std::ssize(types);
    for (std::size_t i = 0; i < types.size(); ++i) {
      results.push_back(restore_result(state, name, i, *grid_, model_.config().has_point_head));
      results.back().type = types[i];
      results.back().index = begin + std::int64_t(i);
    }
  }

  void require_consistent(const StateReader& state) {
    const bool placed = earlier_.empty();
    overlap_ = placed ? windows_.back().overlap : std::ssize(earlier_);
    const bool consistent =
        overlap_ <= std::min(plan_.overlap(), submitted_) &&
        (placed ? later_.empty() && std::ssize(held_) <= computed_ && windows_.back().first_frame == first_frame_
                : held_.empty() && std::ssize(later_) == computed_ && computed_ < overlap_);
    if (!consistent) state.refuse("its numbers of frames and windows contradict each other");
  }

  void begin_next_window() {
    take_all();
    const std::int64_t overlap = plan_.overlap_of(submitted_);
    while (static_cast<std::int64_t>(held_.size()) > overlap) release_front(held_);
    earlier_.assign(std::make_move_iterator(held_.begin()), std::make_move_iterator(held_.end()));
    held_.clear();
    while (static_cast<std::int64_t>(images_.size()) > overlap) images_.pop_front();

    session_.reset();
    first_frame_ += submitted_ - overlap;
    submitted_ = 0;
    computed_ = 0;
    keyframes_ = 0;
    overlap_ = overlap;
    if (overlap == 0) place_without_overlap();
    for (std::int64_t i = 0; i < overlap; ++i) {
      Image image = std::move(images_.front());
      images_.pop_front();
      add(std::move(image));
      while (session_.in_flight() > 1) take(session_.collect());
    }
  }

  /// Gives a frame to the current window, and keeps its image for the next one.
  void add(Image frame) {
    session_.submit(frame);
    grid_ = FrameGrid(model_.config(), frame.width, frame.height);
    ++submitted_;
    if (plan_.overlap() > 0) images_.push_back(std::move(frame));
    while (static_cast<std::int64_t>(images_.size()) > plan_.overlap()) images_.pop_front();
  }

  void take_all() {
    while (session_.in_flight() > 0) take(session_.collect());
  }

  /// Takes results of the current window in order.
  void take(std::vector<FrameResult> results) {
    for (FrameResult& result : results) {
      result.index += first_frame_;
      if (result.type == FrameType::keyframe) ++keyframes_;
      ++computed_;
      if (earlier_.empty()) {
        hold(std::move(result));
        continue;
      }
      later_.push_back(std::move(result));
      if (later_.size() == earlier_.size()) place();
    }
    if (earlier_.empty()) windows_.back().frames = computed_;
    release_certain();
  }

  /// A window whose common frames are all there gets its place.
  void place() {
    const WindowOverlap overlap{earlier_, later_};
    const auto world_from_window = align_window(overlap, options_.alignment);
    world_from_window_ = world_from_window.value_or(Sim3{});
    WindowRecord record{.first_frame = first_frame_,
                        .overlap = overlap_,
                        .scale = world_from_window_.scale,
                        .transform = matrix_of(world_from_window_),
                        .aligned = world_from_window.has_value()};
    measure_residuals(overlap, world_from_window_, record);
    jumps_.judge(record);
    windows_.push_back(record);
    earlier_.clear();
    for (FrameResult& result : std::exchange(later_, {})) hold(std::move(result));
  }

  void place_without_overlap() {
    world_from_window_ = {};
    windows_.push_back({.first_frame = first_frame_, .aligned = false});
  }

  void hold(FrameResult result) {
    warp(result, world_from_window_);
    held_.push_back(std::move(result));
  }

  /// Gives what cannot be common with the next window.
  void release_certain() {
    const std::int64_t certain = plan_.least_length(computed_, keyframes_) - plan_.overlap();
    while (!held_.empty() && held_.front().index - first_frame_ < certain) release_front(held_);
  }

  void release_front(std::deque<FrameResult>& results) {
    ready_.push_back(std::move(results.front()));
    results.pop_front();
  }

  template <typename Results>
  void release_all(Results& results) {
    ready_.insert(ready_.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
    results.clear();
  }

  Model model_;
  WindowedOptions options_;
  WindowPlan plan_;
  Session session_;
  WindowJumps jumps_;
  std::vector<WindowRecord> windows_;
  std::optional<FrameGrid> grid_;  ///< of the frames so far

  // Of the current window.
  std::int64_t first_frame_ = 0;  ///< its place in the sequence
  std::int64_t submitted_ = 0;
  std::int64_t computed_ = 0;
  std::int64_t keyframes_ = 0;  ///< streamed keyframes among the computed frames
  std::int64_t overlap_ = 0;    ///< with the window before
  Sim3 world_from_window_;

  std::deque<Image> images_;          ///< the last frames, which the next window may compute again
  std::vector<FrameResult> earlier_;  ///< of the window before, for the common frames, until this one has its place
  std::vector<FrameResult> later_;    ///< of this one, for the same frames, as far as they are there
  std::deque<FrameResult> held_;      ///< placed; the last ones may be common with the next window
  std::vector<FrameResult> ready_;    ///< final
  bool finished_ = false;
};

WindowedSession::WindowedSession(const Model& model, const WindowedOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
WindowedSession::~WindowedSession() = default;
WindowedSession::WindowedSession(WindowedSession&&) noexcept = default;
WindowedSession& WindowedSession::operator=(WindowedSession&&) noexcept = default;

std::vector<FrameResult> WindowedSession::push(const Image& frame) { return impl_->push(frame); }
void WindowedSession::submit(const Image& frame) { impl_->submit(frame); }
std::vector<FrameResult> WindowedSession::collect() { return impl_->collect(); }
int WindowedSession::in_flight() const noexcept { return impl_->in_flight(); }
std::vector<FrameResult> WindowedSession::finish() { return impl_->finish(); }
void WindowedSession::save(const std::filesystem::path& path) const { impl_->save(path); }
WindowedSession WindowedSession::restore(const Model& model, const WindowedOptions& options,
                                         const std::filesystem::path& path) {
  WindowedSession session(model, options);
  session.impl_->restore(path);
  return session;
}
std::int64_t WindowedSession::frames_pushed() const noexcept { return impl_->frames_pushed(); }
std::int64_t WindowedSession::frames_final() const noexcept { return impl_->frames_final(); }
const std::vector<WindowRecord>& WindowedSession::windows() const noexcept { return impl_->windows(); }
std::size_t WindowedSession::held_results() const noexcept { return impl_->held_results(); }
CacheStats WindowedSession::cache_stats() const { return impl_->session().cache_stats(); }
std::size_t WindowedSession::cache_bytes() const { return impl_->session().cache_bytes(); }
const StageTimes& WindowedSession::stage_times() const { return impl_->session().stage_times(); }
AttentionKind WindowedSession::attention() const { return impl_->session().attention(); }
std::string WindowedSession::attention_description() const { return impl_->session().attention_description(); }

MemoryPlan WindowedSession::plan(const Model& model, const WindowedOptions& options, int width, int height) {
  (void)WindowPlan(options);
  return Session::plan(model, options_of_window(options), width, height);
}

WindowedSession::Extent WindowedSession::extent(const WindowedOptions& options) {
  const WindowPlan plan(options);
  return {.frames = plan.length(), .overlap = plan.overlap()};
}

}  // namespace lingbot_map
