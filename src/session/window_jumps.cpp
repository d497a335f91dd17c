#include "session/window_jumps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace lingbot_map {
namespace {

constexpr std::size_t kHistory = 32;
constexpr double kUsualTimes = 3;
constexpr double kLeastScaleChange = 1.5;
constexpr double kLeastDepthResidual = 0.1;
constexpr double kLeastRotationResidual = 10 * std::numbers::pi / 180;

}  // namespace

void WindowJumps::judge(WindowRecord& record) {
  if (last_scale_ && record.aligned && record.overlap > 0)
    record.scale_jumped =
        stands_out(std::abs(std::log(record.scale / *last_scale_)), std::log(kLeastScaleChange), changes_);
  const bool depth = record.depth_residual && stands_out(*record.depth_residual, kLeastDepthResidual, depths_);
  const bool rotation =
      record.rotation_residual && stands_out(*record.rotation_residual, kLeastRotationResidual, rotations_);
  record.residual_jumped = depth || rotation;
  last_scale_ = record.scale;
}

bool WindowJumps::stands_out(double value, double least, std::deque<double>& history) {
  std::vector<double> sorted(history.begin(), history.end());
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted.empty() ? 0 : sorted[(sorted.size() - 1) / 2];
  history.push_back(value);
  if (history.size() > kHistory) history.pop_front();
  return value > least && value > kUsualTimes * usual;
}

}  // namespace lingbot_map
