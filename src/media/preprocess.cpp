#include "media/preprocess.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/message.hpp"
#include "media/resize.hpp"

namespace lingbot_map {

namespace {

/// The length in whole patches: nearest, halves to even, as Python rounds.
double in_patches(int length, double scale, int patch_size) {
  return std::nearbyint(length * scale / patch_size) * patch_size;
}

/// Below zero for cutting, above for padding; rounded down either way as the public loader does.
int centred_offset(int outer, int inner) { return outer >= inner ? (outer - inner) / 2 : -((inner - outer) / 2); }

std::string percent(double share) {
  const long rounded = std::lround(100 * share);
  return rounded < 1 ? "less than 1 %" : message(rounded, " %");
}

std::string sides(int width, int height) { return message(width, " x ", height); }

}  // namespace

std::string_view name_of(PreprocessMode mode) noexcept { return mode == PreprocessMode::crop ? "crop" : "pad"; }

void PreprocessOptions::validate() const {
  constexpr int kLargest = 16'384;
  if (patch_size < 1 || patch_size > kLargest) {
    fail(ErrorCode::usage, "--patch_size: found ", patch_size, ", expected 1 to ", kLargest);
  }
  if (image_size < 1 || image_size > kLargest || image_size % patch_size != 0) {
    fail(ErrorCode::usage, "--image_size: found ", image_size, ", expected a positive multiple of the patch size ",
         patch_size, ", at most ", kLargest);
  }
}

OriginalPixels PreprocessGeometry::original_pixels() const noexcept {
  const double scale_x = static_cast<double>(original_width) / resized_width;
  const double scale_y = static_cast<double>(original_height) / resized_height;
  return {.width = original_width,
          .height = original_height,
          .scale_x = scale_x,
          .scale_y = scale_y,
          .offset_x = -offset_x * scale_x,
          .offset_y = -offset_y * scale_y};
}

double PreprocessGeometry::cropped_share() const noexcept {
  return std::max(0, resized_height - height) / static_cast<double>(resized_height);
}

PreprocessGeometry plan_preprocess(ImageSize original, const PreprocessOptions& options) {
  const auto [width, height] = original;
  const int size = options.image_size;
  const bool fit_width = options.mode == PreprocessMode::crop || width >= height;
  const double scale = static_cast<double>(size) / (fit_width ? width : height);
  const double other = in_patches(fit_width ? height : width, scale, options.patch_size);
  constexpr double kLargest = 1 << 30;
  if (other < 1 || other > kLargest) {
    fail(ErrorCode::input, "an image of ", sides(width, height), " pixels is too long and thin for --image_size ",
         size);
  }
  PreprocessGeometry geometry{.original_width = width,
                              .original_height = height,
                              .resized_width = fit_width ? size : static_cast<int>(other),
                              .resized_height = fit_width ? static_cast<int>(other) : size};
  const bool crop = options.mode == PreprocessMode::crop;
  return widen(geometry, size, crop ? std::min(geometry.resized_height, size) : size);
}

PreprocessGeometry widen(PreprocessGeometry geometry, int width, int height) noexcept {
  geometry.offset_x = centred_offset(width, geometry.resized_width);
  geometry.offset_y = centred_offset(height, geometry.resized_height);
  geometry.width = width;
  geometry.height = height;
  return geometry;
}

Image preprocess(const Image& image, const PreprocessGeometry& geometry) {
  check(image.width == geometry.original_width && image.height == geometry.original_height, "an image of ",
        sides(image.width, image.height), " with the geometry of ",
        sides(geometry.original_width, geometry.original_height));
  const int first_row = std::max(0, -geometry.offset_y);
  const int rows = std::min(geometry.resized_height, geometry.height);
  Image resized = resize_bicubic(image, geometry.resized_width, geometry.resized_height, first_row, rows);
  if (resized.width == geometry.width && resized.height == geometry.height) return resized;

  Image padded(geometry.width, geometry.height);
  std::fill(padded.pixels.begin(), padded.pixels.end(), std::uint8_t{255});
  const auto row_bytes = static_cast<std::size_t>(resized.width) * 3;
  for (int y = 0; y < rows; ++y) {
    const auto row = static_cast<std::size_t>(y + std::max(0, geometry.offset_y));
    const std::size_t out =
        (row * static_cast<std::size_t>(padded.width) + static_cast<std::size_t>(geometry.offset_x)) * 3;
    std::copy_n(&resized.pixels[static_cast<std::size_t>(y) * row_bytes], row_bytes, &padded.pixels[out]);
  }
  return padded;
}

SizePlan plan_sizes(std::span<const NamedSize> images, const PreprocessOptions& options) {
  SizePlan plan;
  std::int64_t planned = 0;
  std::int64_t cropped = 0;
  double most_cropped = 0;
  const NamedSize* worst = nullptr;
  PreprocessGeometry smallest;
  std::optional<Error> refusal;
  for (const NamedSize& image : images) {
    try {
      const PreprocessGeometry geometry = plan_preprocess(image.size, options);
      if (planned++ == 0 || geometry.height < smallest.height) smallest = geometry;
      plan.width = std::max(plan.width, geometry.width);
      plan.height = std::max(plan.height, geometry.height);
      if (const double share = geometry.cropped_share(); share > 0) {
        ++cropped;
        if (share > most_cropped) worst = &image;
        most_cropped = std::max(most_cropped, share);
      }
    } catch (const Error& error) {
      if (!refusal) refusal.emplace(error.code(), image.name + ": " + error.what());
    }
  }
  if (planned == 0 && refusal) throw *refusal;
  check(planned > 0, "no image to plan for");
  if (smallest.height != plan.height) {
    plan.warnings.push_back(message("the images have different shapes: frames from ",
                                    sides(smallest.width, smallest.height), " up are padded with white to ",
                                    sides(plan.width, plan.height)));
  }
  if (worst != nullptr) {
    const std::string others = cropped > 1 ? message(" (and up to that of ", cropped - 1, " more)") : "";
    plan.warnings.push_back(message(worst->name, " (", sides(worst->size.width, worst->size.height),
                                    "): ", percent(most_cropped), " of the height is cropped", others,
                                    "; --preprocess_mode pad keeps it"));
  }
  return plan;
}

}  // namespace lingbot_map
