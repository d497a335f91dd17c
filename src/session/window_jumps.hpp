#pragma once

#include <deque>

#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map {

/// Tells windows that stand out from those before them. A scale jumps when it changes by more than half, a residual
/// when depths differ by more than a tenth or cameras by more than ten degrees, and each by more than three times what
/// is usual: the median of the last 32 windows.
class WindowJumps {
 public:
  /// Sets scale_jumped and residual_jumped. Takes the windows in order, the first one included.
  void judge(WindowRecord& record);

 private:
  /// Whether `value` is above `least` and three times the median of `history`, to which it is added.
  static bool stands_out(double value, double least, std::deque<double>& history);

  std::optional<double> last_scale_;
  std::deque<double> changes_;  ///< of the logarithm of the scale
  std::deque<double> depths_;
  std::deque<double> rotations_;
};

}  // namespace lingbot_map
