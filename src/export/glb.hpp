#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.hpp"
#include "export/frame_export.hpp"
#include "export/point_cloud.hpp"

namespace lingbot_map {

/// A scene in binary glTF 2.0: coloured points, and when it is finished the cameras as wire pyramids and the way that
/// they took. Vertices are in the world of all other results (camera axes x right, y down, z forward); the root node
/// turns them by half a turn about x, because up is +y in glTF.
///
/// The document of JSON has a fixed room at the front and is brought up to date after every append, so that the file
/// grows with the frames, nothing is held in memory, and it can be read at any time. Cameras wait in NAME.cameras.part
/// beside the file. glTF's limit of 4 GiB leaves room for kMostPoints; what comes after is left out, with a warning.
class GlbWriter final : public FrameExport {
 public:
  static constexpr std::uint64_t kMostPoints = 251'000'000;
  /// Depth of a camera's pyramid: a share of the mean depth of the points.
  static constexpr double kPyramidShare = 0.08;

  /// Throws Error(output). `most_points` is lower in tests.
  GlbWriter(const std::filesystem::path& path, const Units& units, std::uint64_t most_points = kMostPoints);
  ~GlbWriter() override;
  GlbWriter(const GlbWriter&) = delete;
  GlbWriter& operator=(const GlbWriter&) = delete;

  void write(const PosedFrame& frame, std::span<const ColouredPoint> points) override;
  void finish() override;
  [[nodiscard]] std::vector<std::string> warnings() const override;

 private:
  struct Bounds {
    std::array<float, 3> low{};
    std::array<float, 3> high{};
    void add(const std::array<float, 3>& position, bool first);
  };
  /// A camera as it waits.
  struct Camera {
    Rigid3 world_from_camera;
    std::array<double, 4> edges{};  ///< left, top, right, bottom of the picture at depth 1
  };

  void append(std::span<const std::byte> bytes);
  void write_points(const PosedFrame& frame, std::span<const ColouredPoint> points);
  void write_cameras();
  void update_header();
  [[nodiscard]] std::string document() const;

  std::filesystem::path cameras_path_;
  OutputFile file_;
  OutputFile cameras_;
  std::string units_text_;
  std::uint64_t most_points_;
  std::uint64_t points_ = 0;
  std::uint64_t left_out_ = 0;
  std::int64_t first_left_out_ = 0;  ///< frame
  std::uint64_t bytes_ = 0;          ///< of the binary chunk
  Bounds point_bounds_;
  double depth_sum_ = 0;
  std::uint64_t depths_ = 0;
  std::uint64_t camera_count_ = 0;   ///< waiting
  std::uint64_t drawn_cameras_ = 0;  ///< written
  Bounds camera_bounds_;
};

}  // namespace lingbot_map
