#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lingbot_map/types.hpp"
#include "media/onnx_network.hpp"
#include "sky/sky_mask.hpp"

namespace lingbot_map {

/// The side in pixels of the square that the sky network sees.
inline constexpr int kSkyNetworkSize = 320;

/// Scores of sky from the raw output of a network. Values inside 0..1 are probabilities; if any value of a frame lies
/// outside, all are taken as logits and go through the logistic function. Where the frame's probabilities span at least
/// 0.5, they are stretched to 0..1 by their minimum and maximum, as the U-2-Net family does. A frame that spans less
/// has only sky, or none, or nothing that the network is sure of: it is not stretched, since that would make sky of the
/// likeliest wall. Values are finite.
void scores_of_output(std::span<float> values);

/// The public sky network, or one trained like it: an ONNX file with one input of 1x3x320x320 (RGB / 255, ImageNet's
/// mean and deviation), whose first output is a map that is high where there is sky. For one thread at a time.
class SkyNetwork {
 public:
  /// Reads the file and tries it once. `threads` as for OnnxNetwork. Throws Error(input) that names the file and what
  /// is wrong with it.
  explicit SkyNetwork(const std::filesystem::path& path, int threads = 0);

  /// SHA-256 of the file, in hexadecimal.
  [[nodiscard]] const std::string& sha256() const noexcept { return network_.sha256(); }
  /// The mask of a frame of any size. Throws Error(input) if the network gives numbers that are not finite.
  [[nodiscard]] SkyMask mask_of(const Image& image);

 private:
  [[nodiscard]] FloatMap scores_of(const Image& square);

  std::string name_;
  OnnxNetwork network_;
};

}  // namespace lingbot_map
