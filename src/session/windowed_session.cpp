#include "lingbot_map/windowed_session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/message.hpp"
#include "model/model_impl.hpp"
#include "session/checks.hpp"
#include "session/window_alignment.hpp"
#include "session/windowed_session_impl.hpp"

namespace lingbot_map {
namespace {

/// A full window never needs a larger sliding window than the keyframes it keeps.
SessionOptions options_of_window(const WindowedOptions& options) {
  SessionOptions session = options.session;
  if (!options.endless)
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

WindowedSession::Impl::Impl(const Model& model, const WindowedOptions& options)
    : model_(model), options_(options), plan_(options), session_(model, options_of_window(options)) {
  windows_.push_back({});
  judge_windows();
}

void WindowedSession::Impl::submit(const Image& frame) {
  if (finished_) fail(ErrorCode::usage, "a frame after finish(): start a new session");
  make_room_for(frame);
  session_.submit(frame);
  grid_ = FrameGrid(model_.config(), frame.width, frame.height);
  ++submitted_;
  if (plan_.overlap() > 0) images_.add(frame);
  forget_old();
}

std::vector<FrameResult> WindowedSession::Impl::collect() {
  if (ready_.empty()) take(session_.collect());
  return give();
}

std::vector<FrameResult> WindowedSession::Impl::push(const Image& frame) {
  submit(frame);
  take_all();
  return give();
}

std::vector<FrameResult> WindowedSession::Impl::finish() {
  finished_ = true;
  take(session_.finish());
  release_all(earlier_);  // only where the next window failed before its common frames were computed
  release_all(held_);
  return give();
}

void WindowedSession::Impl::make_room_for(const Image& frame) {
  if (options_.session.flow_threshold > 0) take_all();  // whether the window is full depends on the last frame's flow
  if (!plan_.full(submitted_, keyframes_)) return;
  grid_ = checked_grid(model_.config(), frame, grid_);
  begin_next_window();
}

void WindowedSession::Impl::begin_next_window() {
  take_all();
  const std::int64_t overlap = plan_.overlap_of(submitted_);
  while (std::ssize(held_) > overlap) {
    release(std::move(held_.front()));
    held_.pop_front();
  }
  std::vector<FrameResult> earlier(std::make_move_iterator(held_.begin()), std::make_move_iterator(held_.end()));
  held_.clear();
  begin_window(first_frame_ + submitted_ - overlap, std::move(earlier));
}

void WindowedSession::Impl::begin_window(std::int64_t first, std::vector<FrameResult> earlier) {
  session_.reset();
  first_frame_ = first;
  submitted_ = 0;
  computed_ = 0;
  keyframes_ = 0;
  overlap_ = std::ssize(earlier);
  earlier_ = std::move(earlier);
  if (overlap_ == 0) place_without_overlap();
  for (std::int64_t i = 0; i < overlap_; ++i) compute_again(first + i);
}

void WindowedSession::Impl::compute_again(std::int64_t frame) {
  const Image& image = images_[frame];
  make_room_for(image);
  session_.submit(image);
  ++submitted_;
  while (session_.in_flight() > 1) take(session_.collect());
}

void WindowedSession::Impl::take_all() {
  while (session_.in_flight() > 0) take(session_.collect());
}

void WindowedSession::Impl::take(std::vector<FrameResult> results) {
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

void WindowedSession::Impl::place() {
  const WindowOverlap overlap{earlier_, later_};
  const auto world_from_window = align_window(overlap, options_.alignment);
  world_from_window_ = world_from_window.value_or(Sim3{});
  WindowRecord record{.first_frame = first_frame_,
                      .overlap = overlap_,
                      .first_given = next_,
                      .scale = world_from_window_.scale,
                      .transform = matrix_of(world_from_window_),
                      .aligned = world_from_window.has_value()};
  measure_residuals(overlap, world_from_window_, record);
  jumps_.judge(record);
  windows_.push_back(record);
  earlier_.clear();
  for (FrameResult& result : std::exchange(later_, {})) hold(std::move(result));
}

void WindowedSession::Impl::place_without_overlap() {
  world_from_window_ = {};
  windows_.push_back({.first_frame = first_frame_, .first_given = next_, .aligned = false});
}

void WindowedSession::Impl::hold(FrameResult result) {
  const bool as_streamed = options_.endless && windows_.size() == 1;
  if (!as_streamed) warp(result, world_from_window_);
  held_.push_back(std::move(result));
}

void WindowedSession::Impl::release_certain() {
  const std::int64_t certain = plan_.least_length(computed_, keyframes_) - plan_.overlap();
  while (!held_.empty() && held_.front().index - first_frame_ < certain) {
    release(std::move(held_.front()));
    held_.pop_front();
  }
}

template <typename Results>
void WindowedSession::Impl::release_all(Results& results) {
  for (FrameResult& result : results) release(std::move(result));
  results.clear();
}

void WindowedSession::Impl::release(FrameResult result) {
  if (result.index < next_) return;
  next_ = result.index + 1;
  if (options_.cuts) given_.push_back(result);
  ready_.push_back(std::move(result));
}

std::vector<FrameResult> WindowedSession::Impl::give() {
  uncut_ = ready_.empty() ? next_ : ready_.front().index;
  forget_old();
  return std::exchange(ready_, {});
}

void WindowedSession::Impl::forget_old() {
  images_.forget_before(first_image(uncut_));
  while (!given_.empty() && given_.front().index < uncut_ - plan_.overlap()) given_.pop_front();
}

std::int64_t WindowedSession::Impl::first_image(std::int64_t given) const noexcept {
  const std::int64_t last = options_.cuts ? std::min(given, images_.end()) : images_.end();
  return std::max<std::int64_t>(last - plan_.overlap(), 0);
}

void WindowedSession::Impl::cut(std::int64_t frame) {
  require_cut(frame);
  end_before(frame);
  const std::int64_t overlap = overlap_at_cut(frame);
  begin_window(frame - overlap, {given_.end() - overlap, given_.end()});
  while (frames_pushed() < images_.end()) compute_again(frames_pushed());
  finished_ = false;
}

void WindowedSession::Impl::require_cut(std::int64_t frame) const {
  if (!options_.cuts)
    fail(ErrorCode::usage, "cut at frame ", frame, ": the session was made without cuts; set WindowedOptions::cuts");
  const std::int64_t first = std::max<std::int64_t>(uncut_, 1);
  if (frames_pushed() < first)
    fail(ErrorCode::usage, "cut at frame ", frame, ": no frame was pushed that a new window could be placed on");
  if (frame < first || frame > frames_pushed())
    fail(ErrorCode::usage, "cut at frame ", frame, ": expected ", first, " to ", frames_pushed(),
         ", a frame of the results that were given last or behind them");
}

void WindowedSession::Impl::end_before(std::int64_t frame) {
  take_all();
  const auto computed = [this] { return first_frame_ + (earlier_.empty() ? computed_ : std::ssize(earlier_)); };
  if (computed() < frame) take(session_.finish());  // scale frames that wait for more of them
  release_all(earlier_);
  release_all(held_);
  later_.clear();
  const auto behind = [frame](const FrameResult& result) { return result.index >= frame; };
  std::erase_if(ready_, behind);
  std::erase_if(given_, behind);
  next_ = frame;

  while (windows_.size() > 1 && windows_.back().first_given >= frame) windows_.pop_back();
  windows_.back().frames = frame - windows_.back().first_frame;
  judge_windows();
}

std::int64_t WindowedSession::Impl::overlap_at_cut(std::int64_t frame) const {
  const auto unplaced = std::find_if(windows_.rbegin(), windows_.rend(), [](const auto& w) { return !w.aligned; });
  const std::int64_t begin_of_world = unplaced == windows_.rend() ? 0 : unplaced->first_given;
  const std::int64_t overlap = std::min(plan_.overlap(), frame - begin_of_world);
  const bool begins_as_before = frame - overlap == windows_.back().first_frame;
  return begins_as_before && overlap > 1 ? overlap - 1 : overlap;
}

void WindowedSession::Impl::judge_windows() {
  jumps_ = {};
  for (WindowRecord& window : windows_)
    if (window.first_frame == 0 || window.overlap > 0) jumps_.judge(window);
}

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
void WindowedSession::cut(std::int64_t frame) { impl_->cut(frame); }
void WindowedSession::save(const std::filesystem::path& path, const CollapseWatch* watch) const {
  impl_->save(path, watch);
}
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
