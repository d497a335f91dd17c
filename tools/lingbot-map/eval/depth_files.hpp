#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/trajectory_file.hpp"

namespace lingbot_map::tool {

/// The file of one frame's depth.
struct DepthFile {
  std::filesystem::path path;
  double number = 0;     ///< at the end of its name: 12 of frame_000012.npz, 1305031102.16 of 1305031102.160000.png
  bool is_time = false;  ///< the number has a decimal point
};

/// The depth maps directly inside a folder, ascending by number: .npz, .npy and .png whose names end in one. Of two
/// with the same number, the one that holds more exact values is taken (.npy, .npz, .png). Throws Error(input) for a
/// folder that is missing, cannot be read, or has none.
[[nodiscard]] std::vector<DepthFile> list_depth_files(const std::filesystem::path& folder);

/// A file of the estimate and the one of the truth for the same frame.
struct DepthFilePair {
  DepthFile estimate;
  DepthFile truth;
};

/// Pairs the files of two folders. A file's time is its number if that has a decimal point, else the time of the
/// trajectory's frame of that number, if there are as many files as frames; where both sides have times, files belong
/// together that are no further apart than `max_time_difference` seconds, so that a run over every second frame of a
/// scene finds the right ones. Where they have not, files of the same number belong together. Trajectories may be null.
/// Throws Error(input) when no files belong together.
[[nodiscard]] std::vector<DepthFilePair> pair_depth_files(const std::vector<DepthFile>& estimate,
                                                          const Trajectory* estimate_trajectory,
                                                          const std::vector<DepthFile>& truth,
                                                          const Trajectory* truth_trajectory,
                                                          double max_time_difference);

}  // namespace lingbot_map::tool
