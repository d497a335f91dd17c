#include "session/seen_frame.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "state/state_reader.hpp"
#include "state/state_writer.hpp"

namespace lingbot_map {
namespace {

constexpr double kLeastCommonShare = 0.2;  ///< of the pixels looked at: fewer say nothing of the scale
constexpr int kStep = 8;                   ///< every so many pixels of every so many rows

constexpr std::int64_t kLargestSide = 1 << 20;
constexpr const char* kPose = "watch.pose_enc";
constexpr const char* kDepth = "watch.depth";
constexpr const char* kWidth = "watch.width";
constexpr const char* kHeight = "watch.height";

Tensor row_of(const PoseEncoding& pose) { return {const_cast<float*>(pose.data()), DType::f32, {1, std::ssize(pose)}}; }

Tensor map_of(const std::vector<float>& values, std::int64_t width, std::int64_t height) {
  return {const_cast<float*>(values.data()), DType::f32, {height, width}};
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_over_grid(const std::vector<float>& map, int width, int height, double less) {
  std::vector<double> values;
  for (int v = 0; v < height; v += kStep)
    for (int u = 0; u < width; u += kStep) {
      const double value =
          map[static_cast<std::size_t>(v) * static_cast<std::size_t>(width) + static_cast<std::size_t>(u)] - less;
      if (value > 0 && std::isfinite(value)) values.push_back(value);
    }
  return values.empty() ? 0 : median_of(std::move(values));
}

std::optional<SeenFrame> seen_frame(const FrameResult& result) {
  const auto pose = world_from_camera(result.pose_enc);
  if (!pose) return std::nullopt;
  return SeenFrame{.pose_enc = result.pose_enc,
                   .width = result.width,
                   .height = result.height,
                   .depth = result.depth,
                   .world_from_camera = *pose,
                   .intrinsics = intrinsics_of(result.pose_enc, result.width, result.height),
                   .median_depth = median_over_grid(result.depth, result.width, result.height, 0)};
}

std::optional<double> scale_between(const SeenFrame& before, const SeenFrame& now) {
  if (!before.intrinsics.usable() || !now.intrinsics.usable()) return std::nullopt;
  const Rigid3 before_from_now = before.world_from_camera.inverse() * now.world_from_camera;
  std::vector<double> factors;
  int looked_at = 0;
  for (int v = 0; v < now.height; v += kStep)
    for (int u = 0; u < now.width; u += kStep) {
      ++looked_at;
      const double depth =
          now.depth[static_cast<std::size_t>(v) * static_cast<std::size_t>(now.width) + static_cast<std::size_t>(u)];
      if (!(depth > 0) || !std::isfinite(depth)) continue;
      const Vec3 point = before_from_now * unproject(now.intrinsics, u, v, depth);
      if (!(point[2] > 0)) continue;
      const double column = std::round(before.intrinsics.fx * point[0] / point[2] + before.intrinsics.cx);
      const double row = std::round(before.intrinsics.fy * point[1] / point[2] + before.intrinsics.cy);
      if (!(column >= 0 && column < before.width && row >= 0 && row < before.height)) continue;
      const double seen = before.depth[static_cast<std::size_t>(row) * static_cast<std::size_t>(before.width) +
                                       static_cast<std::size_t>(column)];
      if (seen > 0 && std::isfinite(seen)) factors.push_back(point[2] / seen);
    }
  if (static_cast<double>(factors.size()) < kLeastCommonShare * looked_at) return std::nullopt;
  return median_of(std::move(factors));
}

void save_seen(StateWriter& state, const SeenFrame* frame) {
  state.put(kWidth, std::int64_t{frame != nullptr ? frame->width : 0});
  state.put(kHeight, std::int64_t{frame != nullptr ? frame->height : 0});
  if (frame == nullptr) return;
  state.add(kPose, row_of(frame->pose_enc));
  state.add(kDepth, map_of(frame->depth, frame->width, frame->height));
}

std::optional<SeenFrame> restore_seen(StateReader& state) {
  const std::int64_t width = state.fields().integer(kWidth, 0, kLargestSide);
  const std::int64_t height = state.fields().integer(kHeight, width == 0 ? 0 : 1, width == 0 ? 0 : kLargestSide);
  if (width == 0) return std::nullopt;
  FrameResult result;
  result.width = static_cast<int>(width);
  result.height = static_cast<int>(height);
  state.read(kPose, row_of(result.pose_enc));
  state.expect(kDepth, DType::f32, height, width);
  result.depth.resize(static_cast<std::size_t>(width * height));
  state.read(kDepth, map_of(result.depth, width, height));
  std::optional<SeenFrame> frame = seen_frame(result);
  if (!frame) state.refuse("the frame that the collapse watch looked at last has no pose");
  return frame;
}

}  // namespace lingbot_map
