#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "geometry/rigid.hpp"

namespace lingbot_map {

/// Where a camera was.
struct StampedPose {
  double time = 0;         ///< seconds; the frame's number where a trajectory has no times
  std::int64_t frame = 0;  ///< position in the sequence of frames, those without a pose counted
  Rigid3 world_from_camera;
};

struct Trajectory {
  std::string name;       ///< of the file, for messages
  bool has_times = true;  ///< false: `time` is the frame's number
  std::vector<StampedPose> poses;
  std::vector<double> frame_times;  ///< of every frame, with a pose or without; strictly ascending
};

enum class TrajectoryFormat : std::uint8_t { automatic, tum, kitti };

/// Reads a trajectory; `automatic` takes the format from the first line that is no comment, by the number of its words.
///
///   TUM    timestamp tx ty tz qx qy qz qw        seconds, camera to world; lines starting with # are comments
///   KITTI  twelve numbers, the 3x4 matrix from camera to world row by row; line n is frame n
///
/// A frame without a pose is what a run leaves for it: in TUM the comment `# TIME has no pose`, in KITTI twelve times
/// `nan`. Rotations may be off by what rounding in files does (1e-3) and are made exact: a quaternion by its length, a
/// matrix by the rotation next to it.
///
/// Throws Error(input) that names file and line: for a file that cannot be read, holds no pose or is larger than 256
/// MiB; a line of another number of words; what is no finite number; time stamps that are not strictly ascending; a
/// quaternion whose length is not one, a matrix that is no rotation.
[[nodiscard]] Trajectory read_trajectory(const std::filesystem::path& path,
                                         TrajectoryFormat format = TrajectoryFormat::automatic);

}  // namespace lingbot_map
