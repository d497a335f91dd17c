#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "geometry/fit_similarity.hpp"
#include "lingbot_map/windowed_session.hpp"
#include "model/frame_grid.hpp"
#include "session/recent_images.hpp"
#include "session/window_jumps.hpp"
#include "session/window_plan.hpp"
#include "state/state_reader.hpp"

namespace lingbot_map {

/// The current window, and what waits around it. A result goes from the session to `later_` while its window has no
/// place yet, then to `held_`, placed, then to `ready_` when no other window can give it any more.
class WindowedSession::Impl {
 public:
  Impl(const Model& model, const WindowedOptions& options);

  void submit(const Image& frame);
  std::vector<FrameResult> collect();
  std::vector<FrameResult> push(const Image& frame);
  std::vector<FrameResult> finish();
  void cut(std::int64_t frame);
  [[nodiscard]] int in_flight() const noexcept { return session_.in_flight() + (ready_.empty() ? 0 : 1); }

  // saved_windowed_session.cpp
  void save(const std::filesystem::path& path, const CollapseWatch* watch) const;
  void restore(const std::filesystem::path& path);

  [[nodiscard]] std::int64_t frames_pushed() const noexcept { return first_frame_ + submitted_; }
  [[nodiscard]] std::int64_t frames_final() const noexcept { return next_; }
  [[nodiscard]] const std::vector<WindowRecord>& windows() const noexcept { return windows_; }
  [[nodiscard]] std::size_t held_results() const noexcept { return held_.size() + earlier_.size() + later_.size(); }
  [[nodiscard]] const Session& session() const noexcept { return session_; }

 private:
  /// Ends the current window, which is full, and begins the next one.
  void begin_next_window();
  /// Begins a window at `first` with the images of the frames that it has in common with those before, of which
  /// `earlier` are the results.
  void begin_window(std::int64_t first, std::vector<FrameResult> earlier);
  /// Gives a frame that images_ has to the current window, or to the next one if it has no place for it.
  void compute_again(std::int64_t frame);
  void make_room_for(const Image& frame);

  void take_all();
  /// Takes results of the current window in order.
  void take(std::vector<FrameResult> results);
  /// A window whose common frames are all there gets its place.
  void place();
  void place_without_overlap();
  void hold(FrameResult result);
  /// Gives what cannot be common with the next window.
  void release_certain();
  template <typename Results>
  void release_all(Results& results);
  /// A result is final, unless its frame was given one before.
  void release(FrameResult result);
  /// Final results for the caller.
  [[nodiscard]] std::vector<FrameResult> give();

  void require_cut(std::int64_t frame) const;
  /// Makes all results of frames before this one final and forgets those behind.
  void end_before(std::int64_t frame);
  /// Frames that a window after a cut has in common with those before.
  [[nodiscard]] std::int64_t overlap_at_cut(std::int64_t frame) const;
  void judge_windows();
  void forget_old();
  /// The first frame whose image may be needed, if results before `given` are settled.
  [[nodiscard]] std::int64_t first_image(std::int64_t given) const noexcept;

  void restore_counters(const StateReader& state);
  void restore_placement(StateReader& state);
  template <typename Results>
  void restore_results(StateReader& state, const std::string& name, std::int64_t begin, Results& results);
  void require_consistent(const StateReader& state);

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

  RecentImages images_;               ///< which a window that is still to come may compute again
  std::vector<FrameResult> earlier_;  ///< what common frames have so far, until this window has its place
  std::vector<FrameResult> later_;    ///< of this window, for the same frames, as far as they are there
  std::deque<FrameResult> held_;      ///< placed; the last ones may be common with the next window
  std::vector<FrameResult> ready_;    ///< final
  std::int64_t next_ = 0;             ///< frames before it have final results
  bool finished_ = false;

  // For cuts.
  std::deque<FrameResult> given_;  ///< the last final results
  std::int64_t uncut_ = 0;         ///< frames before it can no more be cut at
};

}  // namespace lingbot_map
