#include "alignment_target.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/message.hpp"
#include "evaluation/association.hpp"
#include "evaluation/umeyama.hpp"
#include "geometry/vec3.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::size_t kFewestPoses = 3;

}  // namespace

AlignmentTarget::AlignmentTarget(const std::filesystem::path& file, double max_time_difference)
    : max_time_difference_(max_time_difference), target_(read_trajectory(file, TrajectoryFormat::tum)) {
  if (target_.poses.size() < kFewestPoses)
    fail(ErrorCode::input, file.string(), ": found ", target_.poses.size(), " poses, expected at least ", kFewestPoses,
         " to align to");
  frames_.name = "the frames of this run";
}

void AlignmentTarget::add(double timestamp, const PoseEncoding& encoding) {
  const auto pose = world_from_camera(encoding);
  if (pose) frames_.poses.push_back({timestamp, static_cast<std::int64_t>(frames_.frame_times.size()), *pose});
  frames_.frame_times.push_back(timestamp);
}

TrajectoryFit AlignmentTarget::fit() const {
  if (frames_.poses.empty())
    fail(ErrorCode::input, "--align_to ", name(), ": no frame has a pose that could be aligned");
  const std::vector<PosePair> pairs = associate(frames_, target_, max_time_difference_);
  if (pairs.size() < kFewestPoses)
    fail(ErrorCode::input, "--align_to ", name(), ": found poses for ", pairs.size(), " frames, expected at least ",
         kFewestPoses, "; check its times, or give a larger --max_time_difference");
  std::vector<Vec3> from;
  std::vector<Vec3> to;
  for (const PosePair& pair : pairs) {
    from.push_back(pair.estimate.translation);
    to.push_back(pair.truth.translation);
  }
  TrajectoryFit fit;
  try {
    fit.target_from_network = umeyama(from, to, true);
  } catch (const Error& error) {
    fail(error.code(), "--align_to ", name(), ": ", error.what());
  }
  double sum = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    sum += std::pow(distance(fit.target_from_network * from[i], to[i]), 2);
    if (i > 0) fit.path_length += distance(to[i - 1], to[i]);
    for (const double coordinate : to[i])
      fit.largest_coordinate = std::max(fit.largest_coordinate, std::abs(coordinate));
  }
  fit.pairs = static_cast<std::int64_t>(pairs.size());
  fit.rmse = std::sqrt(sum / static_cast<double>(pairs.size()));
  return fit;
}

std::string fit_text(const TrajectoryFit& fit, const std::string& name) {
  return message("aligned to ", name, ": scale ", fit.target_from_network.scale, ", ", fit.pairs,
                 " frames with a pose there, rmse ", fit.rmse);
}

std::string resolution_warning(const TrajectoryFit& fit, const std::string& name) {
  const double resolution = fit.largest_coordinate * 0x1p-24;
  if (resolution < 1e-4 * fit.path_length) return {};
  return message("coordinates reach ", fit.largest_coordinate,
                 ", where the float32 of points.ply, scene.glb and "
                 "predictions resolves ",
                 resolution, "; subtract an origin from ", name, " to lose nothing");
}

}  // namespace lingbot_map::tool
