#include "session/pass_results.hpp"

#include <algorithm>

namespace lingbot_map {
namespace {

std::size_t pixels_of(const FrameGrid& grid) { return static_cast<std::size_t>(grid.width * grid.height); }

}  // namespace

std::vector<FrameResult> results_of(std::span<const std::byte> bytes, std::int64_t first, std::int64_t frames,
                                    FrameType type, const FrameGrid& grid, bool has_points) {
  const auto* source = reinterpret_cast<const float*>(bytes.data());
  std::vector<FrameResult> results(static_cast<std::size_t>(frames));
  for (std::size_t i = 0; i < results.size(); ++i) {
    FrameResult& result = results[i];
    result.index = first + static_cast<std::int64_t>(i);
    result.type = type;
    result.width = static_cast<int>(grid.width);
    result.height = static_cast<int>(grid.height);
    std::copy_n(source, result.pose_enc.size(), result.pose_enc.begin());
    source += result.pose_enc.size();
    result.pose_enc[7] = std::max(result.pose_enc[7], 0.0F);
    result.pose_enc[8] = std::max(result.pose_enc[8], 0.0F);
  }
  const auto take = [&](std::vector<float> FrameResult::*map, std::size_t channels) {
    for (FrameResult& result : results) {
      (result.*map).assign(source, source + pixels_of(grid) * channels);
      source += pixels_of(grid) * channels;
    }
  };
  take(&FrameResult::depth, 1);
  take(&FrameResult::depth_conf, 1);
  if (has_points) {
    take(&FrameResult::world_points, 3);
    take(&FrameResult::world_points_conf, 1);
  }
  return results;
}

std::size_t result_bytes(std::int64_t frames, const FrameGrid& grid, bool has_points) {
  const std::size_t floats = FrameResult{}.pose_enc.size() + (has_points ? 6U : 2U) * pixels_of(grid);
  return static_cast<std::size_t>(frames) * floats * sizeof(float);
}

}  // namespace lingbot_map
