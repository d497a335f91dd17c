#include "geometry/similarity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace lingbot_map {
namespace {

using Mat4 = std::array<std::array<double, 4>, 4>;

Vec3 minus(const Vec3& a, const Vec3& b) noexcept { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

double dot(const Vec3& a, const Vec3& b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Turns rows and columns p and q so that the element between them is zero, and the vectors with them.
void rotate_pair(Mat4& a, Mat4& vectors, std::size_t p, std::size_t q) noexcept {
  if (a[p][q] == 0) return;
  const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  const double t = (theta < 0 ? -1.0 : 1.0) / (std::abs(theta) + std::hypot(theta, 1.0));
  const double c = 1 / std::hypot(t, 1.0);
  const double s = t * c;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto [kp, kq] = std::pair(a[k][p], a[k][q]);
    a[k][p] = c * kp - s * kq;
    a[k][q] = s * kp + c * kq;
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const auto [pk, qk] = std::pair(a[p][k], a[q][k]);
    a[p][k] = c * pk - s * qk;
    a[q][k] = s * pk + c * qk;
  }
  for (auto& row : vectors) {
    const auto [kp, kq] = std::pair(row[p], row[q]);
    row[p] = c * kp - s * kq;
    row[q] = s * kp + c * kq;
  }
}

/// The eigenvector of the largest eigenvalue of a symmetric matrix, by Jacobi's method.
std::array<double, 4> largest_eigenvector(Mat4 a) noexcept {
  constexpr int kSweeps = 32;  // converges quadratically: six are enough in double precision
  Mat4 vectors = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t p = 0; p < 3; ++p)
      for (std::size_t q = p + 1; q < 4; ++q) rotate_pair(a, vectors, p, q);
  std::size_t best = 0;
  for (std::size_t i = 1; i < 4; ++i)
    if (a[i][i] > a[best][best]) best = i;
  return {vectors[0][best], vectors[1][best], vectors[2][best], vectors[3][best]};
}

struct Moments {
  Vec3 from{};  ///< weighted means
  Vec3 to{};
  Mat3 covariance{};       ///< [from axis, to axis], not divided by the weight
  double from_spread = 0;  ///< weighted sum of squares about the mean
  double to_spread = 0;
  std::size_t counted = 0;
};

Moments moments_of(std::span<const WeightedPair> pairs) noexcept {
  Moments moments;
  double weight = 0;
  for (const WeightedPair& pair : pairs) {
    weight += pair.weight;
    for (std::size_t i = 0; i < 3; ++i) {
      moments.from[i] += pair.weight * pair.from[i];
      moments.to[i] += pair.weight * pair.to[i];
    }
    if (pair.weight > 0) ++moments.counted;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    moments.from[i] /= weight;
    moments.to[i] /= weight;
  }
  for (const WeightedPair& pair : pairs) {
    const Vec3 from = minus(pair.from, moments.from);
    const Vec3 to = minus(pair.to, moments.to);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) moments.covariance[i * 3 + j] += pair.weight * from[i] * to[j];
    moments.from_spread += pair.weight * dot(from, from);
    moments.to_spread += pair.weight * dot(to, to);
  }
  return moments;
}

Quaternion rotation_of(const Mat3& m) noexcept {
  const Mat4 horn = {{{m[0] + m[4] + m[8], m[5] - m[7], m[6] - m[2], m[1] - m[3]},
                      {m[5] - m[7], m[0] - m[4] - m[8], m[1] + m[3], m[6] + m[2]},
                      {m[6] - m[2], m[1] + m[3], m[4] - m[0] - m[8], m[5] + m[7]},
                      {m[1] - m[3], m[6] + m[2], m[5] + m[7], m[8] - m[0] - m[4]}}};
  const auto [w, x, y, z] = largest_eigenvector(horn);
  return {x, y, z, w};
}

}  // namespace

Vec3 Sim3::operator*(const Vec3& point) const noexcept {
  const Vec3 turned = Rigid3{rotation, {}} * point;
  return {scale * turned[0] + translation[0], scale * turned[1] + translation[1], scale * turned[2] + translation[2]};
}

Rigid3 Sim3::operator*(const Rigid3& world_from_camera) const noexcept {
  const Rigid3 turned = Rigid3{rotation, {}} * world_from_camera;
  return {turned.rotation, *this * world_from_camera.translation};
}

std::optional<Sim3> fit_similarity(std::span<const WeightedPair> pairs) noexcept {
  const Moments moments = moments_of(pairs);
  const double spread = moments.from_spread * moments.to_spread;
  if (moments.counted < 3 || !std::isfinite(spread) || spread <= 0) return std::nullopt;
  const auto rotation = rotation_from_quaternion(rotation_of(moments.covariance));
  if (!rotation) return std::nullopt;
  double aligned = 0;  // sum weight to . (rotation from)
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) aligned += (*rotation)[j * 3 + i] * moments.covariance[i * 3 + j];
  Sim3 fit{.scale = aligned / moments.from_spread, .rotation = *rotation};
  if (!std::isfinite(fit.scale) || fit.scale <= 0) return std::nullopt;
  const Vec3 mapped = fit * moments.from;
  fit.translation = minus(moments.to, mapped);
  return fit;
}

}  // namespace lingbot_map
