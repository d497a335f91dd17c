#include <algorithm>

#include "base/message.hpp"
#include "lingbot_map/collapse_watch.hpp"
#include "model/model_impl.hpp"
#include "session/saved_state.hpp"
#include "session/saved_windows.hpp"
#include "session/windowed_session_impl.hpp"

namespace lingbot_map {
namespace {

constexpr const char* kEarlier = "earlier";
constexpr const char* kLater = "later";
constexpr const char* kHeld = "held";
constexpr const char* kGiven = "given";

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

void WindowedSession::Impl::save(const std::filesystem::path& path, const CollapseWatch* watch) const {
  if (finished_) fail(ErrorCode::usage, "save after finish(): the session takes no further frame");
  if (!ready_.empty())
    fail(ErrorCode::usage, "save with ", ready_.size(), " final results that were not collected: collect() them first");
  StateWriter state = state_writer(*model_.impl(), path);
  save_window_options(state, options_);
  session_.save(state);
  save_windows(state, windows_);
  state.put("windows.first_frame", first_frame_);
  state.put("windows.keyframes", keyframes_);
  state.put("windows.given", next_);
  const std::int64_t first = std::max(first_image(next_), images_.begin());
  for (std::int64_t i = first; i < images_.end(); ++i) save_image(state, "images", std::size_t(i - first), images_[i]);
  save_results(state, kEarlier, earlier_);
  save_results(state, kLater, later_);
  save_results(state, kHeld, held_);
  if (options_.cuts) {
    const auto last = std::min<std::ptrdiff_t>(std::ssize(given_), plan_.overlap());
    save_results(state, kGiven, std::vector<FrameResult>(given_.end() - last, given_.end()));
  }
  if (watch != nullptr) watch->save(state);
  state.finish();
}

void WindowedSession::Impl::restore(const std::filesystem::path& path) {
  StateReader state = state_reader(*model_.impl(), path);
  check_window_options(state, options_);
  session_.restore(state);
  grid_ = saved_grid(state, model_.config());
  restore_counters(state);
  restore_placement(state);
  if (!grid_) return;
  if (plan_.overlap() > 0) {
    images_.start_at(frames_pushed());
    const std::int64_t first = first_image(next_);
    images_.start_at(first);
    while (images_.end() < frames_pushed())
      images_.add(restore_image(state, "images", std::size_t(images_.end() - first), *grid_));
  }
  restore_results(state, kEarlier, first_frame_, earlier_);
  restore_results(state, kLater, first_frame_, later_);
  restore_results(state, kHeld, first_frame_ + computed_, held_);
  if (options_.cuts) restore_results(state, kGiven, next_, given_);
  require_consistent(state);
}

void WindowedSession::Impl::restore_counters(const StateReader& state) {
  const JsonFields& fields = state.fields();
  submitted_ = session_.frames_pushed();
  computed_ = fields.flag("streaming") ? submitted_ : 0;
  first_frame_ = fields.integer("windows.first_frame", 0, std::int64_t{1} << 40);
  keyframes_ = fields.integer("windows.keyframes", 0, computed_);
  next_ = fields.integer("windows.given", 0, frames_pushed());
  uncut_ = next_;
}

/// The windows, and what follows from them.
void WindowedSession::Impl::restore_placement(StateReader& state) {
  windows_ = restore_windows(state);
  judge_windows();
  world_from_window_ = placed_by(windows_.back());
}

/// Appends a saved list of results, of which `begin` is the index of the first one, or for those that were placed the
/// end.
template <typename Results>
void WindowedSession::Impl::restore_results(StateReader& state, const std::string& name, std::int64_t begin,
                                            Results& results) {
  const std::vector<FrameType> types = saved_types(state, name + ".types");
  if (name == kHeld || name == kGiven) begin -= std::ssize(types);
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back(restore_result(state, name, i, *grid_, model_.config().has_point_head));
    results.back().type = types[i];
    results.back().index = begin + std::int64_t(i);
  }
}

void WindowedSession::Impl::require_consistent(const StateReader& state) {
  const bool placed = earlier_.empty();
  overlap_ = placed ? windows_.back().overlap : std::ssize(earlier_);
  const std::int64_t released = first_frame_ + (placed ? computed_ - std::ssize(held_) : 0);
  const bool consistent =
      overlap_ <= std::min(plan_.overlap(), submitted_) &&
      (placed ? later_.empty() && std::ssize(held_) <= computed_ && windows_.back().first_frame == first_frame_
              : held_.empty() && std::ssize(later_) == computed_ && computed_ < overlap_) &&
      next_ >= released && next_ <= std::max(released, first_frame_ + overlap_) &&
      std::ssize(given_) == (options_.cuts ? std::min(plan_.overlap(), next_) : 0);
  if (!consistent) state.refuse("its numbers of frames and windows contradict each other");
}

}  // namespace lingbot_map
