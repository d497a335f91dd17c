#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lingbot_map/session.hpp"

namespace lingbot_map {

/// How a window is placed on the one before it, from the frames that both have.
enum class WindowAlignment : std::uint8_t {
  /// The public system's: rotation and place of one camera, the last one that is a keyframe in both windows; scale by
  /// the
  /// median of depth ratios.
  exact,
  /// The similarity that brings the points of all common frames together, each with the confidence of both windows,
  /// where those that do not fit lose their weight.
  robust,
};
[[nodiscard]] std::string_view name_of(WindowAlignment alignment) noexcept;

struct WindowedOptions {
  /// Of every window: its scale frames, keyframe interval or flow threshold, and the rest.
  SessionOptions session{};
  int window_size = 64;   ///< frames that a window keeps: scale frames and keyframes
  int overlap_size = 16;  ///< frames that a window has in common with the one before; 0: windows are not aligned
  /// The same in keyframes, and at least the scale frames; wins over overlap_size.
  std::optional<int> overlap_keyframes{};
  WindowAlignment alignment = WindowAlignment::exact;
  /// Whether cut() may be called, for which the results of the last overlap_size frames and their images are kept. Then
  /// overlap_size is 1 or more.
  bool cuts = false;
  /// Windows end at a cut alone, and window_size counts no more: one stream, as Session has it, that can be cut. Until
  /// the first cut its results are Session's to the bit. Its cache grows as Session's does. Needs `cuts`.
  bool endless = false;
};

/// A window of a sequence, and how it was placed.
struct WindowRecord {
  std::int64_t first_frame = 0;  ///< index in the sequence
  std::int64_t frames = 0;       ///< computed so far, those in common with the window before included
  std::int64_t overlap = 0;      ///< frames in common with the window before
  /// Index of the first frame whose result is this window's: first_frame, but after a cut the frame that was cut at. A
  /// short window behind a cut may have none; then it is that of the next one.
  std::int64_t first_given = 0;
  /// World from this window's own coordinates: x -> scale * R x + t. `transform` is [R | t; 0 0 0 1], row by row.
  double scale = 1;
  std::array<double, 16> transform = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  /// Whether the frames in common told the placement. If not, the window is as the network gave it. Always true for the
  /// first one.
  bool aligned = true;

  /// How well the frames in common then agree: median relative difference of depth, root mean square of the distance of
  /// camera centres (in the world's unit) and of the angle between cameras (rad). Not set where nothing could be
  /// compared.
  std::optional<double> depth_residual{};
  std::optional<double> position_residual{};
  std::optional<double> rotation_residual{};
  /// The scale, or the difference of depth, is far from what the windows before had: a sign that the network lost its
  /// way.
  bool scale_jumped = false;
  bool residual_jumped = false;
};

/// A stream of frames of any length in windows that each begin anew: caches never hold more than a window, and each
/// window is placed on the one before by the frames that both have. The number of frames need not be known.
///
/// A window covers scale_frames + (window_size - scale_frames) * keyframe_interval frames, or with a flow threshold as
/// many as it takes to keep window_size. When a frame comes that the current window has no place for, the next window
/// begins: it computes the common frames again, from images that were kept for it, and then that frame. Its results are
/// placed as soon as those of the common frames are there. What waits, and is held, is at most the results of the
/// common frames of both windows, and their images: every other result leaves as soon as it is computed. Of two results
/// for one frame, the later window's is given. Source: windowed inference of LingBot-Map. In the public system a frame
/// is lost where windows overlap by their whole length; here such options are refused, and windows are joined by the
/// overlap that they really have.
///
/// A window can also be ended from outside, where a CollapseWatch or whatever else says that the network lost its way:
/// see cut().
///
/// Not for use by two threads at once.
class WindowedSession {
 public:
  /// Throws Error(usage) on impossible options, with the numbers; Error(unsupported) as Session does.
  explicit WindowedSession(const Model& model, const WindowedOptions& options = {});
  ~WindowedSession();
  WindowedSession(WindowedSession&&) noexcept;
  WindowedSession& operator=(WindowedSession&&) noexcept;

  /// Takes the next frame and gives what has become final: results in the order of frames, `index` counting from 0 over
  /// the whole sequence, poses, depth and world points in the coordinates of the first window, quaternions of length
  /// one with w >= 0. A pose that is none (not finite, quaternion zero) stays as the network gave it. Throws as
  /// Session::push.
  [[nodiscard]] std::vector<FrameResult> push(const Image& frame);
  /// push() without the wait for this frame. A frame that begins a window waits for the common frames.
  void submit(const Image& frame);
  /// What has become final; waits for the oldest frame on its way if nothing has. May be empty.
  [[nodiscard]] std::vector<FrameResult> collect();
  /// Frames on their way, and one more if there are final results that were not collected.
  [[nodiscard]] int in_flight() const noexcept;
  /// Ends the sequence and gives all that is left. Afterwards no further frame is taken, but cut() may be called.
  [[nodiscard]] std::vector<FrameResult> finish();
  /// Ends the window before `frame`, as where the network lost its way. Results of `frame` and later ones that were
  /// given are void, and come again: a new window computes the last overlap_size frames before it, is placed by what
  /// they were given as, and goes on with `frame` and all others that were pushed. Results of frames before it stay, or
  /// are still to be collected, as they are. The common frames are fewer where there are fewer (at the beginning, or
  /// since a window that has no place), and one fewer where the new window would begin with the frame that the window
  /// before began with, since it would come to the same again. `frame` is the first one that the last collect(), push()
  /// or finish() gave, or a later one, up to frames_pushed(), and at least 1. After finish() the session takes frames
  /// again, and finish() is to be called again. Throws Error(usage) for any other frame and without
  /// WindowedOptions::cuts.
  void cut(std::int64_t frame);

  /// As Session::save: all that the session is, with the results and images that it holds and the records of all
  /// windows. Throws Error(usage) while frames are on their way or final results are not collected, after finish() or a
  /// failed frame; Error(output).
  void save(const std::filesystem::path& path, const CollapseWatch* watch = nullptr) const;
  /// As Session::restore: a session that goes on where the saved one was, of the same options. windows() has all of
  /// them.
  [[nodiscard]] static WindowedSession restore(const Model& model, const WindowedOptions& options,
                                               const std::filesystem::path& path);
  /// Frames pushed or submitted so far, each counted once.
  [[nodiscard]] std::int64_t frames_pushed() const noexcept;
  /// Frames whose results are final, from the first one on: the next result is that of frame frames_final(), unless
  /// there are some to collect.
  [[nodiscard]] std::int64_t frames_final() const noexcept;

  /// The windows whose placement is known, in order. One whose first_given is not below frames_final() may be undone by
  /// a cut.
  [[nodiscard]] const std::vector<WindowRecord>& windows() const noexcept;
  /// Results that are held back now, of either window.
  [[nodiscard]] std::size_t held_results() const noexcept;

  [[nodiscard]] CacheStats cache_stats() const;  ///< of the current window
  [[nodiscard]] std::size_t cache_bytes() const;
  [[nodiscard]] const StageTimes& stage_times() const;  ///< of all windows
  [[nodiscard]] AttentionKind attention() const;
  [[nodiscard]] std::string attention_description() const;

  /// What it takes on the device for frames of width x height, without making one. At most window_size frames are kept
  /// at a time: per_kept_frame counts that often.
  [[nodiscard]] static MemoryPlan plan(const Model& model, const WindowedOptions& options, int width, int height);
  /// Frames of a full window (the largest number if they are endless), and those that two windows have in common, by
  /// these options; with a flow threshold, the fewest and the most. Throws Error(usage) on impossible options.
  struct Extent {
    std::int64_t frames = 0;
    std::int64_t overlap = 0;
  };
  [[nodiscard]] static Extent extent(const WindowedOptions& options);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot_map
