#include "evaluation/pose_auc.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "geometry/vec3.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kMostPoses = 4000;
constexpr double kDegrees = 180 / std::numbers::pi;

/// Pairs by their error in whole degrees.
using Histogram = std::array<std::int64_t, 30>;

/// What the angles of a pair of cameras are computed from, with two products a pair fewer than by relative poses.
struct Camera {
  Mat3 truth_from_estimate{};  ///< rotation from the estimate's world to the true one, by way of this camera
  Vec3 estimate{};
  Vec3 truth{};
};

std::vector<Camera> spread_cameras(std::span<const PosePair> poses) {
  const std::size_t count = std::min(poses.size(), kMostPoses);
  std::vector<Camera> cameras(count);
  for (std::size_t n = 0; n < count; ++n) {
    const PosePair& pair = poses[count == 1 ? 0 : n * (poses.size() - 1) / (count - 1)];
    const Rigid3 turn = Rigid3{pair.truth.rotation, {}} * Rigid3{pair.estimate.rotation, {}}.inverse();
    cameras[n] = {turn.rotation, pair.estimate.translation, pair.truth.translation};
  }
  return cameras;
}

double degrees_of_cosine(double cosine) noexcept { return std::acos(std::clamp(cosine, -1.0, 1.0)) * kDegrees; }

double rotation_error(const Camera& a, const Camera& b) noexcept {
  double trace = 0;
  for (std::size_t i = 0; i < 9; ++i) trace += a.truth_from_estimate[i] * b.truth_from_estimate[i];
  return degrees_of_cosine((trace - 1) / 2);
}

double direction_error(const Camera& a, const Camera& b, double least_motion) noexcept {
  const Vec3 truth = minus(b.truth, a.truth);
  const Vec3 estimate = minus(b.estimate, a.estimate);
  const double true_length = std::sqrt(dot(truth, truth));
  const double length = std::sqrt(dot(estimate, estimate));
  if (true_length <= least_motion) return 0;
  if (!(length > 0)) return 90;
  const Vec3 turned = Rigid3{a.truth_from_estimate, {}} * estimate;
  return degrees_of_cosine(std::abs(dot(truth, turned)) / (true_length * length));
}

double extent_of(std::span<const Camera> cameras) {
  double extent = 0;
  for (const Camera& camera : cameras) {
    const Vec3 away = minus(camera.truth, cameras.front().truth);
    extent = std::max(extent, std::sqrt(dot(away, away)));
  }
  return extent;
}

double area(const Histogram& histogram, std::size_t degrees, double pairs) {
  double recalls = 0;
  std::int64_t below = 0;
  for (std::size_t bin = 0; bin < degrees; ++bin) {
    below += histogram[bin];
    recalls += static_cast<double>(below) / pairs;
  }
  return recalls / static_cast<double>(degrees);
}

}  // namespace

PoseAuc pose_auc(std::span<const PosePair> poses) {
  PoseAuc result;
  const std::vector<Camera> cameras = spread_cameras(poses);
  if (cameras.size() < 2) return result;
  const double least_motion = 1e-9 * extent_of(cameras);
  Histogram histogram{};
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    for (std::size_t j = i + 1; j < cameras.size(); ++j) {
      double error = rotation_error(cameras[i], cameras[j]);
      if (error < histogram.size()) error = std::max(error, direction_error(cameras[i], cameras[j], least_motion));
      if (error < histogram.size()) ++histogram[static_cast<std::size_t>(error)];
      ++result.camera_pairs;
    }
  }
  const auto pairs = static_cast<double>(result.camera_pairs);
  result.at_5 = area(histogram, 5, pairs);
  result.at_15 = area(histogram, 15, pairs);
  result.at_30 = area(histogram, 30, pairs);
  return result;
}

}  // namespace lingbot_map
