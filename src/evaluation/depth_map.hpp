#pragma once

#include <filesystem>
#include <vector>

namespace lingbot_map {

/// Depth along the optical axis; what is not finite or not positive is no depth (sky, a hole).
struct DepthMap {
  int width = 0;
  int height = 0;
  std::vector<float> values;  ///< [height, width]
};

/// Reads a NumPy array of little-endian float32 or float64 and of shape (H, W), (H, W, 1) or (1, H, W): a .npy file, or
/// the array `depth` of an uncompressed .npz archive as a run's predictions are. Throws Error(input) that names the
/// file.
[[nodiscard]] DepthMap read_depth_array(const std::filesystem::path& path);

}  // namespace lingbot_map
