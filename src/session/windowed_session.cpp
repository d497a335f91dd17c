#include "lingbot_map/windowed_session.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "base/message.hpp"
#include "session/checks.hpp"
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

  [[nodiscard]] const std::vector<WindowRecord>& windows() const noexcept { return windows_; }
  [[nodiscard]] std::size_t held_results() const noexcept { return held_.size() + earlier_.size() + later_.size(); }
  [[nodiscard]] const Session& session() const noexcept { return session_; }

 private:
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
