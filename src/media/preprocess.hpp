#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "geometry/camera.hpp"
#include "lingbot_map/types.hpp"
#include "media/image_header.hpp"

namespace lingbot_map {

/// How an image is brought to the network's size.
enum class PreprocessMode : std::uint8_t {
  crop,  ///< width becomes image_size; rows beyond image_size are cut away, above and below
  pad,   ///< the longer side becomes image_size; white around it makes a square
};
[[nodiscard]] std::string_view name_of(PreprocessMode mode) noexcept;

struct PreprocessOptions {
  int image_size = 518;  ///< pixels, a multiple of patch_size
  int patch_size = 14;   ///< pixels
  PreprocessMode mode = PreprocessMode::crop;
  /// Throws Error(usage) if image_size is no positive multiple of patch_size, or larger than 16,384.
  void validate() const;
};

/// Where the pixels of a network input come from: original -> resized -> placed at an offset in the output, where what
/// lies outside is cut away and what stays uncovered is white.
struct PreprocessGeometry {
  int original_width = 0;  ///< pixels after EXIF orientation or rotation
  int original_height = 0;
  int resized_width = 0;
  int resized_height = 0;
  int offset_x = 0;  ///< column of the output that shows the first column of the resized image
  int offset_y = 0;  ///< the same for rows; negative where rows are cut away
  int width = 0;     ///< pixels of the output: the network input
  int height = 0;

  /// How the output lies in the original image.
  [[nodiscard]] OriginalPixels original_pixels() const noexcept;
  /// Share of the resized height that is cut away: 0 to 1.
  [[nodiscard]] double cropped_share() const noexcept;
  friend bool operator==(const PreprocessGeometry&, const PreprocessGeometry&) = default;
};

/// The geometry for one image by itself. Throws Error(input) if the image is so long and thin that nothing of the
/// smaller side is left.
[[nodiscard]] PreprocessGeometry plan_preprocess(ImageSize original, const PreprocessOptions& options);

/// The same frame in the middle of a larger output; the odd pixel of padding goes right and below.
[[nodiscard]] PreprocessGeometry widen(PreprocessGeometry geometry, int width, int height) noexcept;

/// The network input: [height, width, 3]. The image has the geometry's original size.
[[nodiscard]] Image preprocess(const Image& image, const PreprocessGeometry& geometry);

/// A source image by its name and size.
struct NamedSize {
  std::string name;
  ImageSize size;
};

/// The size that all frames of a sequence share, known before the first one is decoded.
struct SizePlan {
  int width = 0;  ///< the largest width of any frame after preprocessing
  int height = 0;
  std::vector<std::string> warnings;  ///< what is padded, what is cropped: one line each
};

/// Images that plan_preprocess refuses are left out. Throws its error if that leaves none.
[[nodiscard]] SizePlan plan_sizes(std::span<const NamedSize> images, const PreprocessOptions& options);

}  // namespace lingbot_map
