#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/output_file.hpp"
#include "export/units.hpp"
#include "geometry/camera.hpp"

namespace lingbot_map {

/// A trajectory as the TUM RGB-D tools have it: lines starting with # are comments, then one line a frame
///
///     timestamp tx ty tz qx qy qz qw
///
/// in seconds with nine decimals, camera to world, unit quaternion with qw >= 0, numbers with the nine digits that give
/// back the same float32. Camera axes: x right, y down, z forward. A comment tells units that are not the network's
/// own.
class TumWriter {
 public:
  /// Throws Error(output).
  explicit TumWriter(const std::filesystem::path& path, const Units& units = {});
  /// A frame without a pose leaves a comment, so that readers find its time stamp free. Throws Error(input) when
  /// `timestamp` is not finite or not later, by a nanosecond at least, than the one before; Error(output).
  void write(double timestamp, const std::optional<Rigid3>& world_from_camera);
  void close() { file_.close(); }

 private:
  OutputFile file_;
  std::optional<std::int64_t> last_nanoseconds_;
};

/// A trajectory as KITTI's odometry tools have it: one line a frame and nothing else, the twelve numbers of the 3x4
/// matrix from camera to world, row by row. Camera axes: x right, y down, z forward.
class KittiWriter {
 public:
  /// Throws Error(output).
  explicit KittiWriter(const std::filesystem::path& path) : file_(path) {}
  /// A frame without a pose is twelve times "nan", since here the line's number is the frame's. Throws Error(output).
  void write(const std::optional<Rigid3>& world_from_camera);
  void close() { file_.close(); }

 private:
  OutputFile file_;
};

/// The cameras' intrinsics: comments, then one line a frame
///
///     index fx fy cx cy fx fy cx cy width height
///
/// first in pixels of the network's input, then in pixels of the original picture, whose size ends the line. "inf" or
/// "nan" stand for what the network gave no number for.
class IntrinsicsWriter {
 public:
  /// Throws Error(output).
  explicit IntrinsicsWriter(const std::filesystem::path& path);
  /// Throws Error(output).
  void write(std::int64_t index, const Intrinsics& processed, const OriginalPixels& original);
  void close() { file_.close(); }

 private:
  OutputFile file_;
};

}  // namespace lingbot_map
