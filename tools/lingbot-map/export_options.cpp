#include "export_options.hpp"

#include <cmath>

#include "base/message.hpp"
#include "choices.hpp"
#include "png_writer.hpp"

namespace lingbot_map::tool {
namespace {

void require_positive(const char* flag, double value) {
  if (!std::isfinite(value) || value <= 0)
    fail(ErrorCode::usage, flag, ": found ", value, ", expected a number above 0");
}

}  // namespace

void add_export_flags(Flags& flags, ExportOptions& options) {
  flags.value("--export", options.formats,
              "Formats, with commas: ply, glb, colmap, nerfstudio, tum, kitti, npz (" + options.formats + ")", "LIST");
  flags.value("--conf_threshold", options.conf_threshold, "Points have a confidence above it (1.5)", "X");
  flags.value("--downsample_factor", options.downsample_factor, "Every n-th of those points (10)", "N");
  flags.value("--voxel_size", options.voxel_size, "Of those, the first in every cube of this side", "LENGTH");
  flags.value("--intrinsics", options.intrinsics,
              "The true camera in original pixels, for all frames or, in a file, for each", "FX,FY,CX,CY|FILE");
  flags.value("--scale", options.scale, "Lengths are written times this", "X");
  flags.value("--align_to", options.align_to,
              "TUM trajectory of the same cameras: results are written in its world and unit", "FILE");
  flags.value("--max_time_difference", options.max_time_difference,
              "Seconds between a frame and its pose in that trajectory (0.01)", "S");
}

void check_export_options(const ExportOptions& options) {
  static_cast<void>(options.export_formats());
  if (!std::isfinite(options.conf_threshold))
    fail(ErrorCode::usage, "--conf_threshold: found ", options.conf_threshold, ", expected a number");
  require_at_least_one("--downsample_factor", options.downsample_factor);
  if (options.voxel_size) require_positive("--voxel_size", *options.voxel_size);
  if (options.scale) require_positive("--scale", *options.scale);
  if (options.scale && !options.align_to.empty())
    fail(ErrorCode::usage, "--scale and --align_to contradict each other; give one of them");
  if (!std::isfinite(options.max_time_difference) || options.max_time_difference < 0)
    fail(ErrorCode::usage, "--max_time_difference: found ", options.max_time_difference,
         ", expected 0 or more seconds");
}

ExportFormats ExportOptions::export_formats() const { return ExportFormats::parse("--export", formats); }

Units ExportOptions::units() const { return scale ? Units::scaled(*scale) : Units{}; }

ResultOptions ExportOptions::results() const {
  return {.points = {.conf_threshold = conf_threshold, .downsample_factor = downsample_factor},
          .formats = export_formats(),
          .voxel_size = voxel_size.value_or(0),
          .units = units(),
          .write_png = png_writer()};
}

std::optional<KnownCameras> ExportOptions::known_cameras() const {
  if (intrinsics.empty()) return std::nullopt;
  return KnownCameras(intrinsics);
}

}  // namespace lingbot_map::tool
