#include "geometry/svd3.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "geometry/vec3.hpp"

namespace lingbot_map {
namespace {

using Columns = std::array<Vec3, 3>;

Columns columns_of(const Mat3& m) noexcept { return {{{m[0], m[3], m[6]}, {m[1], m[4], m[7]}, {m[2], m[5], m[8]}}}; }
Mat3 matrix_of(const Columns& c) noexcept {
  return {c[0][0], c[1][0], c[2][0], c[0][1], c[1][1], c[2][1], c[0][2], c[1][2], c[2][2]};
}

double length(const Vec3& a) noexcept { return std::hypot(a[0], a[1], a[2]); }
Vec3 scaled(const Vec3& a, double factor) noexcept { return {a[0] * factor, a[1] * factor, a[2] * factor}; }

void rotate(Vec3& a, Vec3& b, double cosine, double sine) noexcept {
  for (std::size_t i = 0; i < 3; ++i) {
    const double old = a[i];
    a[i] = cosine * old - sine * b[i];
    b[i] = sine * old + cosine * b[i];
  }
}

/// Turns columns p and q of `work` until they are orthogonal, and `v` with them. False if they were.
bool orthogonalise(Columns& work, Columns& v, std::size_t p, std::size_t q) noexcept {
  const double pp = dot(work[p], work[p]);
  const double qq = dot(work[q], work[q]);
  const double pq = dot(work[p], work[q]);
  if (!(std::abs(pq) > std::numeric_limits<double>::epsilon() * std::sqrt(pp) * std::sqrt(qq))) return false;
  const double zeta = (qq - pp) / (2 * pq);
  const double tangent = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta);
  const double cosine = 1 / std::hypot(1, tangent);
  rotate(work[p], work[q], cosine, cosine * tangent);
  rotate(v[p], v[q], cosine, cosine * tangent);
  return true;
}

/// A unit vector at a right angle to a unit vector.
Vec3 any_normal(const Vec3& unit) noexcept {
  std::size_t smallest = 0;
  for (std::size_t i = 1; i < 3; ++i)
    if (std::abs(unit[i]) < std::abs(unit[smallest])) smallest = i;
  Vec3 axis{};
  axis[smallest] = 1;
  const Vec3 normal = cross(unit, axis);
  return scaled(normal, 1 / length(normal));
}

}  // namespace

Mat3 nearest_rotation(const Svd3& decomposed) noexcept {
  const double handedness = determinant(decomposed.u) * determinant(decomposed.v) < 0 ? -1 : 1;
  const Vec3 signs = {1, 1, handedness};
  Mat3 rotation{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      for (std::size_t k = 0; k < 3; ++k)
        rotation[row * 3 + column] += decomposed.u[row * 3 + k] * signs[k] * decomposed.v[column * 3 + k];
  return rotation;
}

double determinant(const Mat3& m) noexcept {
  const Columns c = columns_of(m);
  return dot(c[0], cross(c[1], c[2]));
}

Svd3 svd3(const Mat3& matrix) noexcept {
  // Squares of what is very large or small would leave the range of double.
  double largest = 0;
  for (const double entry : matrix) largest = std::max(largest, std::abs(entry));
  if (largest == 0) largest = 1;
  Columns work = columns_of(matrix);
  for (Vec3& column : work)
    for (double& entry : column) entry /= largest;
  Columns v = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

  constexpr int kMostSweeps = 60;  // convergence is quadratic; a handful is the rule
  bool changed = true;
  for (int sweep = 0; changed && sweep < kMostSweeps; ++sweep) {
    changed = orthogonalise(work, v, 0, 1);
    changed = orthogonalise(work, v, 0, 2) || changed;
    changed = orthogonalise(work, v, 1, 2) || changed;
  }

  std::array<std::size_t, 3> order = {0, 1, 2};
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return length(work[a]) > length(work[b]); });
  Columns u{};
  Columns sorted_v{};
  Vec3 values{};
  for (std::size_t i = 0; i < 3; ++i) {
    values[i] = length(work[order[i]]);
    sorted_v[i] = v[order[i]];
  }
  // A column that is rounding noise has no direction of its own.
  const double noise = 16 * std::numeric_limits<double>::epsilon() * values[0];
  u[0] = values[0] > 0 ? scaled(work[order[0]], 1 / values[0]) : Vec3{1, 0, 0};
  u[1] = values[1] > noise ? scaled(work[order[1]], 1 / values[1]) : any_normal(u[0]);
  u[2] = cross(u[0], u[1]);
  if (dot(u[2], work[order[2]]) < 0) u[2] = scaled(u[2], -1);
  for (double& value : values) value *= largest;
  return {matrix_of(u), values, matrix_of(sorted_v)};
}

}  // namespace lingbot_map
