#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/output_file.hpp"
#include "export/writer_state.hpp"
#include "geometry/camera.hpp"
#include "lingbot_map/session.hpp"

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

/// The points that a frame shows: its depth, unprojected by its own camera, with the colours of `image`, the network's
/// input. World points of a point head are not used: depth is there in every model, and what the public viewer shows.
/// Points that are not finite in float32 are dropped before every n-th is taken; a frame whose pose or field of view is
/// not usable shows none. Throws Error(internal) when sizes differ.
[[nodiscard]] std::vector<ColouredPoint> points_of(const FrameResult& result, const Image& image,
                                                   const PointSelection& selection);

/// A point cloud in binary little-endian PLY: vertices of float x y z and uchar red green blue, in the world frame of
/// the network (axes of the first camera, or nearly so: x right, y down, z forward; unit not metric). The number of
/// vertices in the header has a fixed width and is brought up to date after every append, so that the file can be read
/// at any time: what lies past that number is an append that was cut off.
class PlyWriter {
 public:
  /// Begins the file, or goes on with it from a state(). Throws Error(output).
  explicit PlyWriter(const std::filesystem::path& path, const JsonFields* state = nullptr);
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
