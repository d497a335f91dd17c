#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// A pixel is sky if its score is above. Scores go from 0, surely something else, to 1, surely sky.
inline constexpr float kSkyThreshold = 0.5F;

/// Which pixels of a frame are sky. Black and white as masks of other programs are: black is what to leave out.
struct SkyMask {
  static constexpr std::uint8_t kSky = 0;
  static constexpr std::uint8_t kKeep = 255;

  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  ///< [height, width], kSky or kKeep

  [[nodiscard]] bool is_sky(std::size_t pixel) const noexcept { return pixels[pixel] == kSky; }
  /// Part of the frame that is sky, 0 to 1.
  [[nodiscard]] double share() const noexcept;
  friend bool operator==(const SkyMask&, const SkyMask&) = default;
};

/// The mask that scores ([height, width]) make.
[[nodiscard]] SkyMask mask_of_scores(std::span<const float> scores, int width, int height);

/// Sets a map of confidence ([height, width]; an empty one stays empty) to 0 where there is sky.
void clear_sky(const SkyMask& mask, std::span<float> confidence);

/// A digest of all that a mask is made from: the frame and, where they are used, maps of the same size.
[[nodiscard]] std::string digest_of_frame(const Image& image, std::span<const float> depth = {},
                                          std::span<const float> confidence = {});

}  // namespace lingbot_map
