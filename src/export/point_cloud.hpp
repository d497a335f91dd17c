#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/output_file.hpp"
#include "export/posed_frame.hpp"
#include "export/voxel_grid.hpp"
#include "export/writer_state.hpp"

namespace lingbot_map {

/// A point in world coordinates and its colour.
struct ColouredPoint {
  std::array<float, 3> position{};
  std::array<std::uint8_t, 3> colour{};
  friend bool operator==(const ColouredPoint&, const ColouredPoint&) = default;
};

/// Which pixels become points; defaults are the public demo's.
struct PointSelection {
  double conf_threshold = 1.5;  ///< a pixel's depth confidence must be above it, and above 0, which masks stand for
  int downsample_factor = 10;   ///< of what is left, every n-th of each frame, in row order, the first one included
};

/// Where in a pixel its depth is taken to be: at the whole number u, v, as the public implementation has it and
/// points.ply with it, or one half further, which is the pixel's middle where the principal point is counted from the
/// outer border of the first pixel.
enum class PixelPlace : std::uint8_t { whole_number, middle };

/// The points that a frame shows: its depth, unprojected by its own camera, with the colours of the network's input.
/// World points of a point head are not used: depth is there in every model, and what the public viewer shows. Points
/// that are not finite in float32 are dropped before every n-th is taken; a frame whose pose or field of view is not
/// usable shows none.
[[nodiscard]] std::vector<ColouredPoint> points_of(const PosedFrame& frame, const PointSelection& selection,
                                                   PixelPlace place = PixelPlace::whole_number);

/// Drops all points but the first in every cube, over all calls with the same grid.
void keep_first_in_cubes(std::vector<ColouredPoint>& points, VoxelGrid& grid);

/// A point cloud in binary little-endian PLY: vertices of float x y z and uchar red green blue, in the world frame of
/// the network (axes of the first camera, or nearly so: x right, y down, z forward; unit not metric) or in the one that
/// `units` tells. The number of vertices in the header has a fixed width and is brought up to date after every append,
/// so that the file can be read at any time: what lies past that number is an append that was cut off.
class PlyWriter {
 public:
  /// Begins the file, or goes on with it from a state() in the same units. Throws Error(output).
  explicit PlyWriter(const std::filesystem::path& path, const Units& units = {}, const JsonFields* state = nullptr);
  /// Throws Error(output).
  void append(std::span<const ColouredPoint> points);
  void close() { file_.close(); }
  [[nodiscard]] WriterState state() const { return {{"bytes", file_.size()}, {"points", points_}}; }
  [[nodiscard]] std::int64_t points() const noexcept { return points_; }

 private:
  OutputFile file_;
  std::uint64_t count_offset_ = 0;
  std::int64_t points_ = 0;
};

}  // namespace lingbot_map
