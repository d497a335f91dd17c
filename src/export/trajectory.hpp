#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/output_file.hpp"
#include "export/units.hpp"
#include "export/writer_state.hpp"
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
  /// Begins the file, or goes on with it from a state(). Throws Error(output).
  explicit TumWriter(const std::filesystem::path& path, const Units& units = {}, const JsonFields* state = nullptr);
  /// A frame without a pose leaves a comment, so that readers find its time stamp free. Throws Error(input) when
  /// `timestamp` is not finite or not later, by a nanosecond at least, than the one before; Error(output).
  void write(double timestamp, const std::optional<Rigid3>& world_from_camera);
  void close() { file_.close(); }
  [[nodiscard]] WriterState state() const;

 private:
  OutputFile file_;
  std::optional<std::int64_t> last_nanoseconds_;
};

/// A trajectory as KITTI's odometry tools have it: one line a frame and nothing else, the twelve numbers of the 3x4
/// matrix from camera to world, row by row. Camera axes: x right, y down, z forward.
class KittiWriter {
 public:
  /// Begins the file, or goes on with it from a state(). Throws Error(output).
  explicit KittiWriter(const std::filesystem::path& path, const JsonFields* state = nullptr)
      : file_(open_output(path, state)) {}
  /// A frame without a pose is twelve times "nan", since here the line's number is the frame's. Throws Error(output).
  void write(const std::optional<Rigid3>& world_from_camera);
  void close() { file_.close(); }
  [[nodiscard]] WriterState state() const { return {{"bytes", file_.size()}}; }

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
  /// Begins the file, or goes on with it from a state(). Throws Error(output).
  explicit IntrinsicsWriter(const std::filesystem::path& path, const JsonFields* state = nullptr);
  /// Throws Error(output).
  void write(std::int64_t index, const Intrinsics& processed, const OriginalPixels& original);
  void close() { file_.close(); }
  [[nodiscard]] WriterState state() const { return {{"bytes", file_.size()}}; }

 private:
  OutputFile file_;
};

}  // namespace lingbot_map
