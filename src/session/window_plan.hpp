#pragma once

#include <cstdint>

#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map {

/// Where windows begin and end, one frame at a time: the public plan for a sequence of S frames,
///
///     L = K + (W - K) k frames a window,  O frames in common,  windows [s, min(s + L, S)) for s = 0, L - O, 2 (L - O),
///     ... until one ends at S
///
/// comes out whatever S is, because a window ends early only where the sequence does. With a flow threshold a window
/// ends when W - K streamed frames were kept, and the next one begins O frames before its end, but after its scale
/// frames. An endless window is never full.
class WindowPlan {
 public:
  /// Throws Error(usage) with the numbers where windows would lose frames or could not be aligned.
  explicit WindowPlan(const WindowedOptions& options);

  /// Whether the current window, of which so much was taken, has no place for another frame. With a flow threshold
  /// `keyframes` must be final.
  [[nodiscard]] bool full(std::int64_t frames, std::int64_t keyframes) const noexcept {
    if (endless_) return false;
    return by_flow_ ? frames >= scale_frames_ && keyframes >= keyframes_ : frames >= length_;
  }
  /// The fewest frames that a window can have of which these were taken, unless the sequence ends.
  [[nodiscard]] std::int64_t least_length(std::int64_t frames, std::int64_t keyframes) const noexcept;
  /// Frames that a full window of so many has in common with the next one.
  [[nodiscard]] std::int64_t overlap_of(std::int64_t frames) const noexcept;

  /// Frames of a full window; with a flow threshold the fewest; the largest number if it is endless.
  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  /// Frames that two windows have in common; with a flow threshold the most.
  [[nodiscard]] std::int64_t overlap() const noexcept { return overlap_; }

 private:
  bool by_flow_;
  bool endless_;
  std::int64_t scale_frames_;
  std::int64_t keyframes_;  ///< streamed frames that a full window keeps
  std::int64_t length_;
  std::int64_t overlap_;
};

}  // namespace lingbot_map
