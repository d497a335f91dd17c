#include "session/window_alignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "geometry/camera.hpp"

namespace lingbot_map {
namespace {

constexpr float kLeastDepth = std::numeric_limits<float>::epsilon();
constexpr double kLeastScale = 1e-3;
constexpr double kMostScale = 1e3;
constexpr std::size_t kMostPoints = 20'000;
constexpr int kMostRounds = 30;
constexpr double kConverged = 1e-10;

bool keyframe_in_both(const WindowOverlap& overlap, std::size_t i) {
  return overlap.earlier[i].type != FrameType::non_keyframe && overlap.later[i].type != FrameType::non_keyframe;
}

/// The frames that both windows kept, or the first one.
std::vector<std::size_t> pairs_of(const WindowOverlap& overlap) {
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < overlap.earlier.size(); ++i)
    if (keyframe_in_both(overlap, i)) pairs.push_back(i);
  if (pairs.empty()) pairs.push_back(0);
  return pairs;
}

/// The lower one of the two in the middle, if there are two.
template <typename T>
T median(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls `use(earlier depth, later depth)` for the pixels of a frame that have a depth in both windows.
template <typename Use>
void for_each_depth(const WindowOverlap& overlap, std::size_t frame, const Use& use) {
  const std::vector<float>& earlier = overlap.earlier[frame].depth;
  const std::vector<float>& later = overlap.later[frame].depth;
  for (std::size_t i = 0; i < earlier.size(); ++i)
    if (std::isfinite(earlier[i]) && std::isfinite(later[i]) && std::abs(later[i]) > kLeastDepth)
      use(earlier[i], later[i]);
}

double scale_of(const WindowOverlap& overlap, std::span<const std::size_t> pairs) {
  std::vector<float> ratios;
  for (const std::size_t frame : pairs)
    for_each_depth(overlap, frame, [&](float earlier, float later) { ratios.push_back(earlier / later); });
  return ratios.empty() ? 1.0 : std::clamp(static_cast<double>(median(ratios)), kLeastScale, kMostScale);
}

struct CameraPair {
  Rigid3 world;   ///< world_from_camera
  Rigid3 window;  ///< window_from_camera
};

std::optional<CameraPair> cameras_of(const WindowOverlap& overlap, std::size_t frame) {
  const auto world = world_from_camera(overlap.earlier[frame].pose_enc);
  const auto window = world_from_camera(overlap.later[frame].pose_enc);
  if (!world || !window) return std::nullopt;
  return CameraPair{*world, *window};
}

/// The last pair with two usable poses, else the last frame that has them.
std::optional<CameraPair> anchor_of(const WindowOverlap& overlap, std::span<const std::size_t> pairs) {
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair)
    if (const auto cameras = cameras_of(overlap, *pair)) return cameras;
  for (std::size_t i = overlap.earlier.size(); i-- > 0;)
    if (const auto cameras = cameras_of(overlap, i)) return cameras;
  return std::nullopt;
}

std::optional<Sim3> align_exactly(const WindowOverlap& overlap) {
  const std::vector<std::size_t> pairs = pairs_of(overlap);
  const auto anchor = anchor_of(overlap, pairs);
  if (!anchor) return std::nullopt;
  // An encoding has its own rounding: of a quaternion of any length the rotation is orthonormal.
  const Rigid3 turn = Rigid3{anchor->world.rotation, {}} * Rigid3{anchor->window.rotation, {}}.inverse();
  Sim3 world_from_window{.scale = scale_of(overlap, pairs), .rotation = turn.rotation};
  const Vec3 centre = world_from_window * anchor->window.translation;
  for (std::size_t i = 0; i < 3; ++i) world_from_window.translation[i] = anchor->world.translation[i] - centre[i];
  return world_from_window;
}

/// A point as both windows see it. Its misfit counts as a part of its depth, so the pair's weight is trust / depth^2.
struct SeenPoint {
  WeightedPair pair;
  double trust = 0;  ///< by the confidences of both
  double depth = 0;  ///< in the world
};

/// A confidence is one and the network's own number for precision.
double trust_of(float confidence) { return std::isfinite(confidence) ? std::max(confidence - 1.0, 0.0) : 0.0; }

void add_points(const WindowOverlap& overlap, std::size_t frame, int stride, std::vector<SeenPoint>& points) {
  const FrameResult& earlier = overlap.earlier[frame];
  const FrameResult& later = overlap.later[frame];
  const auto cameras = cameras_of(overlap, frame);
  const Intrinsics in_world = intrinsics_of(earlier.pose_enc, earlier.width, earlier.height);
  const Intrinsics in_window = intrinsics_of(later.pose_enc, later.width, later.height);
  if (!cameras || !in_world.usable() || !in_window.usable()) return;
  for (int v = stride / 2; v < earlier.height; v += stride) {
    for (int u = stride / 2; u < earlier.width; u += stride) {
      const auto i =
          static_cast<std::size_t>(v) * static_cast<std::size_t>(earlier.width) + static_cast<std::size_t>(u);
      const float a = earlier.depth[i];
      const float b = later.depth[i];
      if (!std::isfinite(a) || !std::isfinite(b) || !(a > kLeastDepth) || !(b > kLeastDepth)) continue;
      const double trust = std::sqrt(trust_of(earlier.depth_conf[i]) * trust_of(later.depth_conf[i]));
      if (!(trust > 0)) continue;
      points.push_back({.pair = {.from = cameras->window * unproject(in_window, u, v, b),
                                 .to = cameras->world * unproject(in_world, u, v, a),
                                 .weight = trust / (double{a} * a)},
                        .trust = trust,
                        .depth = a});
    }
  }
}

std::vector<SeenPoint> points_of(const WindowOverlap& overlap) {
  const FrameResult& first = overlap.earlier.front();
  const double pixels = static_cast<double>(overlap.earlier.size()) * first.width * first.height;
  const int stride = std::max(1, static_cast<int>(std::ceil(std::sqrt(pixels / kMostPoints))));
  std::vector<SeenPoint> points;
  for (std::size_t i = 0; i < overlap.earlier.size(); ++i) add_points(overlap, i, stride, points);
  return points;
}

/// How far a point is off, as a part of its depth.
double misfit(const SeenPoint& point, const Sim3& world_from_window) {
  const Vec3 mapped = world_from_window * point.pair.from;
  return std::hypot(mapped[0] - point.pair.to[0], mapped[1] - point.pair.to[1], mapped[2] - point.pair.to[2]) /
         point.depth;
}

/// The misfit that half of the trust lies below.
double median_misfit(std::span<const SeenPoint> points, const Sim3& world_from_window) {
  std::vector<std::pair<double, double>> misfits;  // and their trust
  misfits.reserve(points.size());
  double total = 0;
  for (const SeenPoint& point : points) {
    misfits.emplace_back(misfit(point, world_from_window), point.trust);
    total += point.trust;
  }
  std::sort(misfits.begin(), misfits.end());
  double below = 0;
  for (const auto& [value, trust] : misfits)
    if ((below += trust) >= total / 2) return value;
  return misfits.back().first;
}

std::optional<Sim3> fit(std::span<const SeenPoint> points) {
  std::vector<WeightedPair> pairs;
  pairs.reserve(points.size());
  for (const SeenPoint& point : points) pairs.push_back(point.pair);
  return fit_similarity(pairs);
}

/// One round of iteratively reweighted least squares.
std::optional<Sim3> refit(std::span<const SeenPoint> points, const Sim3& current, double median_of_current) {
  const double knee = std::max(1.5 * median_of_current, 1e-9);
  std::vector<WeightedPair> pairs;
  pairs.reserve(points.size());
  for (const SeenPoint& point : points) {
    const double off = misfit(point, current) / knee;
    const double root = 1 / (1 + off * off);
    pairs.push_back({point.pair.from, point.pair.to, point.pair.weight * root * root});
  }
  return fit_similarity(pairs);
}

std::optional<Sim3> align_robustly(const WindowOverlap& overlap) {
  const std::vector<SeenPoint> points = points_of(overlap);
  std::optional<Sim3> best = fit(points);
  if (!best) return align_exactly(overlap);
  double off = median_misfit(points, *best);
  // One wrong camera spoils the exact placement, and many wrong points the least squares: the better one begins.
  if (const auto exact = align_exactly(overlap)) {
    const double exact_off = median_misfit(points, *exact);
    if (exact_off < off) {
      best = exact;
      off = exact_off;
    }
  }
  for (int round = 0; round < kMostRounds; ++round) {
    const auto next = refit(points, *best, off);
    if (!next) break;
    const bool converged = std::abs(next->scale / best->scale - 1) < kConverged;
    best = next;
    off = median_misfit(points, *best);
    if (converged) break;
  }
  best->scale = std::clamp(best->scale, kLeastScale, kMostScale);
  return best;
}

}  // namespace

std::optional<Sim3> align_window(const WindowOverlap& overlap, WindowAlignment how) {
  check(!overlap.earlier.empty() && overlap.earlier.size() == overlap.later.size(), "windows with ",
        overlap.earlier.size(), " and ", overlap.later.size(), " common frames");
  return how == WindowAlignment::exact ? align_exactly(overlap) : align_robustly(overlap);
}

void warp(FrameResult& result, const Sim3& world_from_window) {
  if (const auto window_from_camera = world_from_camera(result.pose_enc)) {
    const Rigid3 placed = world_from_window * *window_from_camera;
    const Quaternion q = quaternion_from_rotation(placed.rotation);
    const double values[] = {placed.translation[0], placed.translation[1], placed.translation[2], q.x, q.y, q.z, q.w};
    std::transform(std::begin(values), std::end(values), result.pose_enc.begin(),
                   [](double value) { return static_cast<float>(value); });
  }
  const auto scale = static_cast<float>(world_from_window.scale);
  for (float& depth : result.depth) depth *= scale;
  for (std::size_t i = 0; i + 2 < result.world_points.size(); i += 3) {
    float* point = &result.world_points[i];
    const Vec3 placed = world_from_window * Vec3{point[0], point[1], point[2]};
    for (std::size_t axis = 0; axis < 3; ++axis) point[axis] = static_cast<float>(placed[axis]);
  }
}

void measure_residuals(const WindowOverlap& overlap, const Sim3& world_from_window, WindowRecord& record) {
  std::vector<float> depths;
  double squared_distance = 0;
  double squared_angle = 0;
  int cameras_compared = 0;
  for (std::size_t i = 0; i < overlap.earlier.size(); ++i) {
    for_each_depth(overlap, i, [&](float earlier, float later) {
      if (std::abs(earlier) > kLeastDepth)
        depths.push_back(static_cast<float>(std::abs(world_from_window.scale * later / earlier - 1)));
    });
    const auto cameras = cameras_of(overlap, i);
    if (!cameras) continue;
    const Rigid3 off = cameras->world.inverse() * (world_from_window * cameras->window);
    const Vec3& distance = off.translation;
    squared_distance += distance[0] * distance[0] + distance[1] * distance[1] + distance[2] * distance[2];
    const Quaternion turn = quaternion_from_rotation(off.rotation);
    const double angle = 2 * std::atan2(std::hypot(turn.x, turn.y, turn.z), turn.w);
    squared_angle += angle * angle;
    ++cameras_compared;
  }
  if (!depths.empty()) record.depth_residual = median(depths);
  if (cameras_compared == 0) return;
  record.position_residual = std::sqrt(squared_distance / cameras_compared);
  record.rotation_residual = std::sqrt(squared_angle / cameras_compared);
}

}  // namespace lingbot_map
