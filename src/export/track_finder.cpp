#include "export/track_finder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

Vec3 plus(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vec3 mean(const Vec3& sum, std::size_t count) {
  const auto n = static_cast<double>(count);
  return {sum[0] / n, sum[1] / n, sum[2] / n};
}

struct Projection {
  double u = 0;
  double v = 0;
  double depth = 0;
};

Projection project(const Rigid3& camera_from_world, const Intrinsics& intrinsics, const Vec3& point) {
  const Vec3 seen = camera_from_world * point;
  return {intrinsics.fx * seen[0] / seen[2] + intrinsics.cx, intrinsics.fy * seen[1] / seen[2] + intrinsics.cy,
          seen[2]};
}

}  // namespace

class TrackFinder::View {
 public:
  View(const PosedFrame& frame, const Camera& camera, const Settings& settings)
      : frame_(frame),
        camera_(camera),
        settings_(settings),
        columns_((frame.result.width + settings.cell - 1) / settings.cell),
        rows_((frame.result.height + settings.cell - 1) / settings.cell),
        taken_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)) {}

  [[nodiscard]] std::int64_t index() const noexcept { return frame_.result.index; }

  /// The pixel that shows a point: it is used up with its cell.
  std::optional<Pixel> find(const Vec3& point) {
    const auto [u, v, depth] = project(camera_.camera_from_world, camera_.intrinsics, point);
    if (!(depth > 0 && u >= 0 && v >= 0 && u < frame_.result.width && v < frame_.result.height)) return std::nullopt;
    const int x = static_cast<int>(u);
    const int y = static_cast<int>(v);
    const double own = depth_at(x, y);
    if (!usable(x, y) || !(std::abs(depth - own) < kDepthTolerance * own)) return std::nullopt;
    const std::size_t cell = cell_of(x, y);
    if (taken_[cell]) return std::nullopt;
    taken_[cell] = true;
    return pixel(x, y);
  }

  /// The most confident usable pixel of every free cell.
  [[nodiscard]] std::vector<Pixel> best_of_free_cells() const {
    std::vector<Pixel> best;
    for (int row = 0; row < rows_; ++row)
      for (int column = 0; column < columns_; ++column)
        if (!taken_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                    static_cast<std::size_t>(column)])
          add_best(column * settings_.cell, row * settings_.cell, best);
    return best;
  }

  /// Where the frame itself says that a pixel is, in the world.
  [[nodiscard]] Vec3 position(const Pixel& pixel) const {
    const double depth = depth_at(static_cast<int>(pixel.u), static_cast<int>(pixel.v));
    return *frame_.world_from_camera * unproject(camera_.intrinsics, pixel.u, pixel.v, depth);
  }
  [[nodiscard]] std::array<std::uint8_t, 3> colour(const Pixel& pixel) const {
    const std::uint8_t* rgb =
        &frame_.meta.image.pixels[3 * place_of(static_cast<int>(pixel.u), static_cast<int>(pixel.v))];
    return {rgb[0], rgb[1], rgb[2]};
  }

 private:
  [[nodiscard]] std::size_t place_of(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(frame_.result.width) + static_cast<std::size_t>(x);
  }
  [[nodiscard]] std::size_t cell_of(int x, int y) const {
    return static_cast<std::size_t>(y / settings_.cell) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(x / settings_.cell);
  }
  [[nodiscard]] double depth_at(int x, int y) const { return frame_.result.depth[place_of(x, y)]; }
  [[nodiscard]] double confidence_at(int x, int y) const { return frame_.result.depth_conf[place_of(x, y)]; }
  [[nodiscard]] bool usable(int x, int y) const {
    const double depth = depth_at(x, y);
    return std::isfinite(depth) && depth > 0 && confidence_at(x, y) > settings_.conf_threshold;
  }
  [[nodiscard]] Pixel pixel(int x, int y) const {
    return {index(), 0, static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F};
  }
  void add_best(int left, int top, std::vector<Pixel>& best) const {
    double highest = -std::numeric_limits<double>::infinity();
    int best_x = -1;
    int best_y = -1;
    for (int y = top; y < std::min(top + settings_.cell, frame_.result.height); ++y) {
      for (int x = left; x < std::min(left + settings_.cell, frame_.result.width); ++x) {
        if (!usable(x, y) || confidence_at(x, y) <= highest) continue;
        highest = confidence_at(x, y);
        best_x = x;
        best_y = y;
      }
    }
    if (best_x >= 0) best.push_back(pixel(best_x, best_y));
  }

  const PosedFrame& frame_;
  const Camera& camera_;
  const Settings& settings_;
  int columns_;
  int rows_;
  std::vector<bool> taken_;
};

TrackFinder::TrackFinder(const Settings& settings) : settings_(settings) {
  check(settings.cell > 0, "cells of ", settings.cell, " pixels");
  if (settings.voxel_size != 0) grid_.emplace(settings.voxel_size);
}

TrackFinder::Finished TrackFinder::add(const PosedFrame& frame, const OriginalPixels& from_processed) {
  const std::int64_t index = frame.result.index;
  if (frame.has_pinhole()) {
    cameras_.push_back(
        {index, frame.world_from_camera->inverse(), frame.intrinsics, from_processed.scale_x, from_processed.scale_y});
    frames_.push_back({index, {}});
    View view(frame, cameras_.back(), settings_);
    extend(view);
    start(view);
  }
  return take_ended(index - kGap + 1);
}

TrackFinder::Finished TrackFinder::finish() { return take_ended(std::numeric_limits<std::int64_t>::max()); }

/// Gives the tracks so far their pixels in this frame.
void TrackFinder::extend(View& view) {
  std::vector<Track> going_on;
  going_on.reserve(tracks_.size());
  for (Track& track : tracks_) {
    const auto pixel = view.find(mean(track.sum, track.pixels.size()));
    if (pixel) {
      if (track.id == 0 && !confirm(track)) continue;
      track.sum = plus(track.sum, view.position(*pixel));
      track.pixels.push_back(*pixel);
      observe(track, track.pixels.back());
    }
    if (track.pixels.size() < kMostObservations) {
      going_on.push_back(std::move(track));
    } else {
      complete_.push_back(finished(track));
    }
  }
  tracks_ = std::move(going_on);
}

/// Makes a track that a second frame sees a point, unless there is one in its cube.
bool TrackFinder::confirm(Track& track) {
  if (grid_ && !grid_->insert(track.sum)) return false;
  track.id = next_id_++;
  observe(track, track.pixels.front());
  return true;
}

/// Notes in the frame of a pixel that it belongs to the track.
void TrackFinder::observe(Track& track, Pixel& pixel) {
  const auto frame = std::ranges::lower_bound(frames_, pixel.frame, {}, &Frame::index);
  check(frame != frames_.end() && frame->index == pixel.frame, "frame ", pixel.frame, " of a track is gone");
  pixel.observation = static_cast<std::int64_t>(frame->observations.size());
  frame->observations.push_back({pixel.u, pixel.v, track.id});
}

void TrackFinder::start(View& view) {
  for (const Pixel& pixel : view.best_of_free_cells()) {
    const Vec3 position = view.position(pixel);
    if (grid_ && grid_->contains(position)) continue;
    tracks_.push_back({0, position, view.colour(pixel), {pixel}});
  }
}

TrackFinder::Point TrackFinder::finished(const Track& track) const {
  Point point{track.id, mean(track.sum, track.pixels.size()), track.colour, 0, {}};
  for (const Pixel& pixel : track.pixels) {
    const auto camera = std::ranges::lower_bound(cameras_, pixel.frame, {}, &Camera::frame);
    check(camera != cameras_.end() && camera->frame == pixel.frame, "the camera of frame ", pixel.frame, " is gone");
    const Projection seen = project(camera->camera_from_world, camera->intrinsics, point.position);
    point.error += std::hypot((seen.u - pixel.u) * camera->scale_x, (seen.v - pixel.v) * camera->scale_y);
    point.track.push_back({pixel.frame, pixel.observation});
  }
  point.error /= static_cast<double>(track.pixels.size());
  return point;
}

/// Lets go of all tracks that were last seen, and all frames that came, before frame `before`.
TrackFinder::Finished TrackFinder::take_ended(std::int64_t before) {
  Finished ended{{}, std::exchange(complete_, {})};
  std::vector<Track> going_on;
  going_on.reserve(tracks_.size());
  for (Track& track : tracks_) {
    if (track.pixels.back().frame >= before) {
      going_on.push_back(std::move(track));
    } else if (track.id != 0) {
      ended.points.push_back(finished(track));
    }
  }
  tracks_ = std::move(going_on);
  while (!frames_.empty() && frames_.front().index < before) {
    ended.frames.push_back(std::move(frames_.front()));
    frames_.pop_front();
  }
  constexpr std::int64_t kLongestTrack = std::int64_t{kGap} * kMostObservations;
  while (!cameras_.empty() && cameras_.back().frame - cameras_.front().frame >= kLongestTrack) cameras_.pop_front();
  return ended;
}

}  // namespace lingbot_map
