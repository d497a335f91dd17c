#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "export/posed_frame.hpp"
#include "export/voxel_grid.hpp"

namespace lingbot_map {

/// Points that several frames see, found from depth alone as frames come.
///
/// A track is a point and the pixels that show it. In every frame the tracks of the last kGap frames are projected; a
/// pixel shows a track if its own depth differs from the track's by less than kDepthTolerance of it, and its confidence
/// is above the threshold. The frame is divided into cells of `cell` x `cell` pixels, each of which has room for one
/// track: older ones come first, and in each free cell the most confident pixel starts a new one. The point is the mean
/// of what its pixels say, each unprojected from its middle by its own camera; its error the mean distance from those
/// middles to where it is projected. A track with kMostObservations is complete, so that neither a camera that stands
/// still nor a long sequence takes memory: what is held are the tracks of kGap frames and the cameras of the
/// kGap * kMostObservations last ones.
class TrackFinder {
 public:
  static constexpr int kGap = 4;                   ///< frames after which a track that was not seen ends
  static constexpr int kMostObservations = 32;     ///< of one track
  static constexpr double kDepthTolerance = 0.02;  ///< of the depth that the pixel has itself

  struct Settings {
    double conf_threshold = 1.5;
    int cell = 3;           ///< pixels
    double voxel_size = 0;  ///< points start in free cubes of a grid only; 0: no grid
  };

  /// The place of a track in a frame.
  struct Observation {
    float u = 0;  ///< middle of the pixel, in pixels of the network's input
    float v = 0;
    std::int64_t point = 0;
  };
  struct Frame {
    std::int64_t index = 0;
    std::vector<Observation> observations;
  };
  struct Place {
    std::int64_t frame = 0;
    std::int64_t observation = 0;  ///< of Frame::observations
  };
  /// A track of at least two frames that is complete.
  struct Point {
    std::int64_t id = 0;  ///< from 1 on
    Vec3 position{};      ///< in the world
    std::array<std::uint8_t, 3> colour{};
    double error = 0;  ///< pixels of the picture that `from_processed` leads to
    std::vector<Place> track;
  };
  /// What can be written: every frame that was added comes back once, in order, when no further track can reach it.
  struct Finished {
    std::vector<Frame> frames;
    std::vector<Point> points;
  };

  explicit TrackFinder(const Settings& settings);

  /// Takes the next frame; one that has no pinhole camera only ages the tracks and does not come back.
  /// `from_processed`: the pixels that errors are measured in.
  [[nodiscard]] Finished add(const PosedFrame& frame, const OriginalPixels& from_processed);
  /// Everything that is still held.
  [[nodiscard]] Finished finish();

 private:
  struct Camera {
    std::int64_t frame = 0;
    Rigid3 camera_from_world;
    Intrinsics intrinsics;
    double scale_x = 1;
    double scale_y = 1;
  };
  struct Pixel {
    std::int64_t frame = 0;
    std::int64_t observation = 0;  ///< once the track has two
    float u = 0;
    float v = 0;
  };
  struct Track {
    std::int64_t id = 0;  ///< 0 until a second frame sees it
    Vec3 sum{};           ///< of the positions that its pixels say
    std::array<std::uint8_t, 3> colour{};
    std::vector<Pixel> pixels;
  };
  /// The frame at work: which pixels can be used, which cells are taken.
  class View;

  void extend(View& view);
  void start(View& view);
  [[nodiscard]] bool confirm(Track& track);
  void observe(Track& track, Pixel& pixel);
  [[nodiscard]] Point finished(const Track& track) const;
  [[nodiscard]] Finished take_ended(std::int64_t before);

  Settings settings_;
  std::optional<VoxelGrid> grid_;
  std::int64_t next_id_ = 1;
  std::vector<Track> tracks_;
  std::vector<Point> complete_;
  std::deque<Frame> frames_;
  std::deque<Camera> cameras_;
};

}  // namespace lingbot_map
