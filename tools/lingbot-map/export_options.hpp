#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "export/known_cameras.hpp"
#include "export/result_writer.hpp"
#include "flags.hpp"

namespace lingbot_map::tool {

/// What `run` and `export` share: which files results become, of which points, by which cameras, in which unit.
struct ExportOptions {
  std::string formats = "ply,tum,kitti";
  double conf_threshold = 1.5;
  int downsample_factor = 10;
  std::optional<double> voxel_size;
  std::string intrinsics;  ///< "fx,fy,cx,cy" or a file; empty: the network's
  std::optional<double> scale;
  std::string align_to;  ///< a TUM trajectory; empty: none
  double max_time_difference = 0.01;

  [[nodiscard]] ExportFormats export_formats() const;
  /// The units that are known beforehand: `scale`.
  [[nodiscard]] Units units() const;
  [[nodiscard]] ResultOptions results() const;
  /// The cameras that are known, from the first frame on.
  [[nodiscard]] std::optional<KnownCameras> known_cameras() const;
};

/// Adds the flags to `flags`; parsing writes to `options`, which must outlive it.
void add_export_flags(Flags& flags, ExportOptions& options);

/// Throws Error(usage) that names the flag, what was found and what is expected. Looks at no file.
void check_export_options(const ExportOptions& options);

}  // namespace lingbot_map::tool
