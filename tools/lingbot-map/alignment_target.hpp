#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "evaluation/trajectory_file.hpp"
#include "export/units.hpp"
#include "geometry/camera.hpp"

namespace lingbot_map::tool {

/// The similarity that puts a run into the world of a given trajectory.
struct TrajectoryFit {
  Sim3 target_from_network;
  std::int64_t pairs = 0;         ///< frames with a pose in the trajectory at their time
  double rmse = 0;                ///< of the camera centres after it, in the trajectory's unit
  double path_length = 0;         ///< of the trajectory along these frames
  double largest_coordinate = 0;  ///< of a camera centre, in the trajectory's world
};

/// A trajectory that results are to be aligned to: gathers the poses of all frames (some 120 bytes each) and fits them
/// to those of the same time by Umeyama's method (evaluation/umeyama.hpp).
class AlignmentTarget {
 public:
  /// Reads the trajectory, in TUM format. Throws Error(input) that names the file: as read_trajectory, and for fewer
  /// than three poses.
  AlignmentTarget(const std::filesystem::path& file, double max_time_difference);

  /// A frame's time and pose encoding, in network units; an encoding without a pose is passed over.
  void add(double timestamp, const PoseEncoding& encoding);
  /// Throws Error(input) that names the file when fewer than three frames have a pose there at their time, or all of
  /// them stand in one place or on one line.
  [[nodiscard]] TrajectoryFit fit() const;
  [[nodiscard]] const std::string& name() const noexcept { return target_.name; }

 private:
  double max_time_difference_;
  Trajectory target_;
  Trajectory frames_;
};

/// "aligned to gnss.txt: scale 2.5, 120 frames, rmse 0.03": for people.
[[nodiscard]] std::string fit_text(const TrajectoryFit& fit, const std::string& name);
/// A line that says how much float32 loses where coordinates are large against the path (map coordinates); empty if it
/// does not matter.
[[nodiscard]] std::string resolution_warning(const TrajectoryFit& fit, const std::string& name);

}  // namespace lingbot_map::tool
