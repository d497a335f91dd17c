#include "sky/sky_mask.hpp"

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "base/sha256.hpp"

namespace lingbot_map {

double SkyMask::share() const noexcept {
  const auto sky = static_cast<double>(std::ranges::count(pixels, kSky));
  return pixels.empty() ? 0 : sky / static_cast<double>(pixels.size());
}

SkyMask mask_of_scores(std::span<const float> scores, int width, int height) {
  check(scores.size() == static_cast<std::size_t>(width) * static_cast<std::size_t>(height), scores.size(),
        " scores of a frame of ", width, " x ", height);
  SkyMask mask{.width = width, .height = height, .pixels = std::vector<std::uint8_t>(scores.size())};
  std::ranges::transform(scores, mask.pixels.begin(),
                         [](float score) { return score > kSkyThreshold ? SkyMask::kSky : SkyMask::kKeep; });
  return mask;
}

void clear_sky(const SkyMask& mask, std::span<float> confidence) {
  if (confidence.empty()) return;
  check(confidence.size() == mask.pixels.size(), "a sky mask of ", mask.width, " x ", mask.height, " for ",
        confidence.size(), " pixels");
  for (std::size_t i = 0; i < confidence.size(); ++i)
    if (mask.is_sky(i)) confidence[i] = 0;
}

std::string digest_of_frame(const Image& image, std::span<const float> depth, std::span<const float> confidence) {
  Sha256 hash;
  const std::array<std::int32_t, 2> size = {image.width, image.height};
  hash.update(std::as_bytes(std::span(size)));
  hash.update(std::as_bytes(std::span(image.pixels)));
  hash.update(std::as_bytes(depth));
  hash.update(std::as_bytes(confidence));
  return hash.finish();
}

}  // namespace lingbot_map
