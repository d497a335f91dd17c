#include "scene/ground_path.hpp"

#include <algorithm>
#include <utility>

#include "scene/smoothing.hpp"
#include "scene/walk_grid.hpp"

namespace lingbot_map::scene {
namespace {

/// What a path keeps away from solids while it is planned, and at least after corners are rounded.
constexpr float kPlanned = 0.33F;
constexpr float kKept = 0.27F;
constexpr double kLeastRound = 1.5;  // metres that a visit must offer before it repeats itself

double distance(GroundPoint a, GroundPoint b) { return std::hypot(a.x - b.x, a.z - b.z); }

double length_of(const std::vector<GroundPoint>& line) {
  double sum = 0;
  for (std::size_t i = 1; i < line.size(); ++i) sum += distance(line[i - 1], line[i]);
  return sum;
}

/// Points kPathSpacing apart along a polyline.
GroundPath resampled(const std::vector<GroundPoint>& line) {
  GroundPath path;
  double next = 0;
  double done = 0;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const double part = distance(line[i - 1], line[i]);
    for (; next <= done + part && part > 0; next += kPathSpacing) {
      const double share = (next - done) / part;
      path.x.push_back(line[i - 1].x + share * (line[i].x - line[i - 1].x));
      path.z.push_back(line[i - 1].z + share * (line[i].z - line[i - 1].z));
    }
    done += part;
  }
  return path;
}

/// Rounding shortens; points are brought to equal distances again.
GroundPath rounded(const GroundPath& path, double metres) {
  const std::vector<double> x = smoothed(path.x, metres / kPathSpacing);
  const std::vector<double> z = smoothed(path.z, metres / kPathSpacing);
  std::vector<GroundPoint> line(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) line[i] = {static_cast<float>(x[i]), static_cast<float>(z[i])};
  return resampled(line);
}

/// The line again and again, until it is long enough: from its end to its beginning if it is closed, else back.
std::vector<GroundPoint> repeated(const std::vector<GroundPoint>& line, bool closed, double length) {
  std::vector<GroundPoint> result = line;
  double done = length_of(line);
  std::vector<GroundPoint> next = line;
  while (done < length) {
    if (!closed) std::ranges::reverse(next);
    done += distance(result.back(), next.front()) + length_of(next);
    result.insert(result.end(), next.begin(), next.end());
  }
  return result;
}

/// The line repeated and its corners rounded by `share` of what the walk asks for; rounding shortens, so that more may
/// be needed than `length` metres of it.
GroundPath rounded_to_length(const std::vector<GroundPoint>& line, const Walk& walk, double share, double length) {
  for (double planned = 1.25 * length + 4 * walk.corner;; planned *= 1.5) {
    GroundPath path = rounded(resampled(repeated(line, walk.closed, planned)), share * walk.corner);
    if (static_cast<double>(path.x.size()) * kPathSpacing >= length + 1) return path;
  }
}

class Visit {
 public:
  Visit(const World& world, Random& random)
      : walk_(world.walk), random_(random), grid_(world.scene, world.walk.areas, world.walk.eye) {}

  std::optional<GroundPath> path(double length) {
    choose_places();
    if (places_.size() < 2) return std::nullopt;
    std::vector<GroundPoint> line = walk_.closed ? round_trip() : wander(length);
    if (length_of(line) < kLeastRound) return std::nullopt;
    for (const double share : {1.0, 0.6, 0.35, 0.2}) {
      GroundPath smooth = rounded_to_length(line, walk_, share, length);
      if (is_free(smooth)) return smooth;
    }
    return std::nullopt;
  }

 private:
  std::optional<GroundPoint> free_place(const GroundArea& area) {
    for (const float least : {0.55F, 0.45F, kPlanned + 0.02F}) {
      for (int attempt = 0; attempt < 40; ++attempt) {
        const GroundPoint place = {random_.uniform(area.low_x, area.high_x), random_.uniform(area.low_z, area.high_z)};
        if (grid_.clearance(place) >= least) return place;
      }
    }
    return std::nullopt;
  }

  /// Some in each room, of which all can be reached from the first.
  void choose_places() {
    for (const GroundArea& area : walk_.areas) {
      for (int i = walk_.areas.size() < 3 ? 4 : 2; i > 0; --i) {
        const std::optional<GroundPoint> place = free_place(area);
        if (!place) continue;
        if (places_.empty() || !grid_.way(places_.front(), *place, kPlanned).empty()) places_.push_back(*place);
      }
    }
  }

  void go_on(std::vector<GroundPoint>& line, GroundPoint to) const {
    const std::vector<GroundPoint> part = grid_.way(line.back(), to, kPlanned);
    line.insert(line.end(), part.begin(), part.end());
  }

  std::vector<GroundPoint> round_trip() {
    std::vector<GroundPoint> line = {places_.front()};
    for (std::size_t i = 1; i < std::min<std::size_t>(places_.size(), 6); ++i) go_on(line, places_[i]);
    go_on(line, places_.front());
    return line;
  }

  std::vector<GroundPoint> wander(double length) {
    std::size_t at = static_cast<std::size_t>(random_.integer(0, static_cast<int>(places_.size()) - 1));
    std::vector<GroundPoint> line = {places_[at]};
    constexpr int kMostLegs = 60;
    for (int leg = 0; leg < kMostLegs && length_of(line) < length; ++leg) {
      at = (at + static_cast<std::size_t>(random_.integer(1, static_cast<int>(places_.size()) - 1))) % places_.size();
      go_on(line, places_[at]);
    }
    return line;
  }

  bool is_free(const GroundPath& path) const {
    for (std::size_t i = 0; i < path.x.size(); ++i)
      if (grid_.clearance({static_cast<float>(path.x[i]), static_cast<float>(path.z[i])}) < kKept) return false;
    return true;
  }

  const Walk& walk_;
  Random& random_;
  WalkGrid grid_;
  std::vector<GroundPoint> places_;
};

}  // namespace

std::optional<GroundPath> ground_path(const World& world, Random& random, double length) {
  if (world.walk.style == Walk::Style::visit) return Visit(world, random).path(length);
  return rounded_to_length(world.walk.line, world.walk, 1, length);
}

}  // namespace lingbot_map::scene
