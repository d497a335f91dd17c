#pragma once

#include <limits>

namespace lingbot_map {

/// Picks frames of a video by time: the first one, and then each that is the first to reach a further multiple of
/// 1/fps. So `fps` frames a second on average where the video has more, and all of them where it has fewer.
class TimeSampler {
 public:
  /// `fps` is positive and finite.
  explicit TimeSampler(double fps) : fps_(fps) {}

  /// Whether the frame at this time (seconds, ascending from call to call) is taken.
  [[nodiscard]] bool take(double seconds) noexcept;

 private:
  double fps_;
  double due_ = -std::numeric_limits<double>::infinity();  // in steps of 1/fps
};

}  // namespace lingbot_map
