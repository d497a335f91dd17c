#include "scene/camera_path.hpp"

#include <algorithm>
#include <array>
#include <numbers>

#include "scene/ground_path.hpp"
#include "scene/smoothing.hpp"

namespace lingbot_map::scene {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
/// What a frame may turn by the gaze alone; shaking adds to it.
constexpr double kMostTurn = 4.2 * kDegree;

/// A smooth function of the frame's number without a period: a sum of waves.
class Waves {
 public:
  /// Periods in frames.
  Waves(Random& random, double amplitude, double shortest, double longest) {
    for (Wave& wave : waves_) {
      wave.amplitude = amplitude * random.uniform(0.3F, 0.7F);
      wave.rate = 2 * std::numbers::pi / random.uniform(static_cast<float>(shortest), static_cast<float>(longest));
      wave.phase = random.uniform(0, 6.2831853F);
    }
  }
  double operator()(double frame) const {
    double sum = 0;
    for (const Wave& wave : waves_) sum += wave.amplitude * std::sin(wave.rate * frame + wave.phase);
    return sum;
  }

 private:
  struct Wave {
    double amplitude;
    double rate;
    double phase;
  };
  std::array<Wave, 3> waves_;
};

/// What a camera does on its way, frame by frame: place, and direction as angles.
struct Course {
  std::vector<double> x, y, z;
  std::vector<double> yaw;    ///< radians; 0 looks along z, a quarter turn along x
  std::vector<double> pitch;  ///< radians, positive looks down
};

Rigid3 camera_at(const Vec3& centre, double yaw, double pitch, double roll) {
  const double cy = std::cos(yaw), sy = std::sin(yaw);
  const double cp = std::cos(pitch), sp = std::sin(pitch);
  const double cr = std::cos(roll), sr = std::sin(roll);
  const Rigid3 turn = {{cy, 0, sy, 0, 1, 0, -sy, 0, cy}, centre};
  const Rigid3 nod = {{1, 0, 0, 0, cp, sp, 0, -sp, cp}, {}};
  const Rigid3 lean = {{cr, -sr, 0, sr, cr, 0, 0, 0, 1}, {}};
  return turn * nod * lean;
}

/// The angle equal to `angle` up to whole turns that is nearest to `reference`.
double near_angle(double angle, double reference) {
  return angle + 2 * std::numbers::pi * std::round((reference - angle) / (2 * std::numbers::pi));
}

/// Follows the values as one does who turns by `most` a step, and never faster, and begins and ends turns smoothly.
std::vector<double> calmed(const std::vector<double>& values, double sigma, double most) {
  std::vector<double> result = smoothed(values, sigma);
  for (std::size_t i = 1; i < result.size(); ++i)
    result[i] = std::clamp(result[i], result[i - 1] - most, result[i - 1] + most);
  return smoothed(result, sigma);
}

/// Of directions to both sides of the way ahead, the one with the widest view, as an angle to be added.
double open_direction(const Scene& scene, const Vec3& eye, double yaw) {
  constexpr int kDirections = 9;
  constexpr double kWidest = 110 * kDegree;
  constexpr double kFarEnough = 4;
  double best = 0;
  double best_score = -1;
  for (int i = 0; i < kDirections; ++i) {
    const double offset = kWidest * (2.0 * i / (kDirections - 1) - 1);
    double view = 0;
    for (const double spread : {-15 * kDegree, 0.0, 15 * kDegree}) {
      const double angle = yaw + offset + spread;
      const auto hit = cast_ray(scene, eye, {std::sin(angle), 0.12, std::cos(angle)});
      view += std::min(hit ? hit->t : kFarEnough, kFarEnough) / (3 * kFarEnough);
    }
    const double score = view - 0.4 * std::abs(offset) / kWidest;
    if (score > best_score) {
      best_score = score;
      best = offset;
    }
  }
  return best;
}

class Walker {
 public:
  Walker(const World& world, Random& random, int frames)
      : world_(world), walk_(world.walk), random_(random), frames_(frames) {}

  std::optional<Course> course() {
    const double ahead = walk_.vehicle ? 6 : 1.2;
    const std::optional<GroundPath> path =
        ground_path(world_, random_, walk_.step * frames_ * kFastest + 2 * ahead + 1);
    if (!path) return std::nullopt;
    const std::vector<double> way = travelled(*path);
    Course course;
    const Waves scan(random_, (walk_.vehicle ? 5 : 22) * kDegree, 60, 240);
    const Waves nod(random_, (walk_.vehicle ? 1.5 : 5) * kDegree, 50, 200);
    const double aside = random_.chance(0.35F) ? random_.uniform(-45, 45) * kDegree : 0;
    const double down = random_.uniform(walk_.vehicle ? -2.F : 0.F, walk_.vehicle ? 4.F : 12.F) * kDegree;
    const bool looks_around = walk_.style == Walk::Style::visit;
    double heading = 0;
    double open = 0;
    double asked = -1;
    for (int i = 0; i < frames_; ++i) {
      course.x.push_back(value_at(path->x, way[i]));
      course.z.push_back(value_at(path->z, way[i]));
      course.y.push_back(-walk_.eye);
      const double dx = value_at(path->x, way[i] + ahead) - course.x.back();
      const double dz = value_at(path->z, way[i] + ahead) - course.z.back();
      const double direction = std::hypot(dx, dz) > 0.05 ? std::atan2(dx, dz) : heading;
      heading = i == 0 ? direction : near_angle(direction, heading);
      if (looks_around && (asked < 0 || way[i] - asked > 0.3)) {
        open = open_direction(world_.scene, {course.x.back(), course.y.back(), course.z.back()}, heading);
        asked = way[i];
      }
      course.yaw.push_back(heading + scan(i) + (looks_around ? open : aside));
      course.pitch.push_back(down + nod(i));
    }
    course.x = smoothed(course.x, 1.5);
    course.z = smoothed(course.z, 1.5);
    course.yaw = calmed(course.yaw, walk_.vehicle ? 5 : 7, kMostTurn);
    return course;
  }

 private:
  static constexpr double kFastest = 1.7;  ///< of the average step

  static double value_at(const std::vector<double>& values, double metres) {
    const double place = std::clamp(metres / kPathSpacing, 0.0, static_cast<double>(values.size()) - 1.001);
    const auto index = static_cast<std::size_t>(place);
    return values[index] + (place - static_cast<double>(index)) * (values[index + 1] - values[index]);
  }

  /// By how much a path turns within the next metres, radians.
  double bend(const GroundPath& path, double metres) const {
    const double reach = walk_.vehicle ? 5 : 0.6;
    double x[3], z[3];
    for (int i = 0; i < 3; ++i) {
      x[i] = value_at(path.x, metres + (i - 1) * reach);
      z[i] = value_at(path.z, metres + (i - 1) * reach);
    }
    const double first = std::atan2(x[1] - x[0], z[1] - z[0]);
    const double second = std::atan2(x[2] - x[1], z[2] - z[1]);
    return std::abs(near_angle(second, first) - first);
  }

  /// Metres from the beginning, in each frame: slower where the path turns.
  std::vector<double> travelled(const GroundPath& path) {
    const Waves speed(random_, 0.22, 30, 150);
    std::vector<double> way(frames_);
    for (int i = 1; i < frames_; ++i) {
      const double turn = bend(path, way[i - 1]) / (std::numbers::pi / 2);
      const double rate = std::clamp(1 + speed(i), 0.25, kFastest) * std::max(0.35, 1 - 0.6 * turn);
      way[i] = way[i - 1] + walk_.step * rate;
    }
    return smoothed(way, 3);
  }

  const World& world_;
  const Walk& walk_;
  Random& random_;
  int frames_;
};

Course around(const Walk& walk, Random& random, int frames) {
  const Waves speed(random, 0.22, 30, 150);
  const Waves out(random, 0.035, 60, 200);
  const Waves rise(random, 0.05 * walk.radius, 60, 200);
  const Waves scan(random, 3 * kDegree, 50, 200);
  const Waves nod(random, 2 * kDegree, 50, 200);
  const double sense = random.sign();
  double angle = random.uniform(0, 6.2831853F);
  double before = angle;
  Course course;
  for (int i = 0; i < frames; ++i) {
    const double radius = walk.radius * (1 + out(i));
    course.x.push_back(walk.target.x + radius * std::sin(angle));
    course.z.push_back(walk.target.z + radius * std::cos(angle));
    course.y.push_back(-walk.eye + rise(i));
    const double drop = walk.target.y - course.y.back();
    before = near_angle(std::atan2(walk.target.x - course.x.back(), walk.target.z - course.z.back()), before);
    course.yaw.push_back(before + scan(i));
    course.pitch.push_back(std::atan2(drop, radius) + nod(i));
    angle += sense * walk.step / walk.radius * std::max(0.25, 1 + speed(i));
  }
  course.yaw = calmed(course.yaw, 2, kMostTurn);
  return course;
}

/// The movements of the hand or vehicle that holds the camera.
CameraPath shaken(const Course& course, bool vehicle, Random& random) {
  const double metres = vehicle ? 0.004 : 0.01;
  const double angle = (vehicle ? 0.12 : 0.35) * kDegree;
  const Waves x(random, metres, 8, 40), y(random, 1.3 * metres, 7, 20), z(random, metres, 8, 40);
  const Waves yaw(random, angle, 8, 40), pitch(random, angle, 8, 40), roll(random, angle, 10, 40);
  const Waves slow_roll(random, (vehicle ? 0.4 : 2) * kDegree, 50, 200);
  CameraPath path;
  path.reserve(course.x.size());
  for (std::size_t i = 0; i < course.x.size(); ++i) {
    const auto frame = static_cast<double>(i);
    path.push_back(camera_at({course.x[i] + x(frame), course.y[i] + y(frame), course.z[i] + z(frame)},
                             course.yaw[i] + yaw(frame), course.pitch[i] + pitch(frame),
                             roll(frame) + slow_roll(frame)));
  }
  return path;
}

}  // namespace

std::optional<CameraPath> make_camera_path(const World& world, std::uint64_t seed, int frames) {
  Random random(seed);
  if (world.walk.style == Walk::Style::circle) {
    return shaken(around(world.walk, random, frames), false, random);
  }
  const std::optional<Course> course = Walker(world, random, frames).course();
  if (!course) return std::nullopt;
  return shaken(*course, world.walk.vehicle, random);
}

double path_length(const CameraPath& path) noexcept {
  double sum = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Vec3& a = path[i - 1].translation;
    const Vec3& b = path[i].translation;
    sum += std::hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]);
  }
  return sum;
}

}  // namespace lingbot_map::scene
