#include "geometry/rigid.hpp"

#include <algorithm>
#include <cmath>

namespace lingbot_map {
namespace {

Vec3 rotate(const Mat3& r, const Vec3& v) noexcept {
  return {r[0] * v[0] + r[1] * v[1] + r[2] * v[2],  //
          r[3] * v[0] + r[4] * v[1] + r[5] * v[2],  //
          r[6] * v[0] + r[7] * v[1] + r[8] * v[2]};
}

Mat3 transpose(const Mat3& r) noexcept { return {r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]}; }

Mat3 multiply(const Mat3& a, const Mat3& b) noexcept {
  Mat3 product{};
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column)
      for (int k = 0; k < 3; ++k) product[row * 3 + column] += a[row * 3 + k] * b[k * 3 + column];
  return product;
}

}  // namespace

std::optional<Mat3> rotation_from_quaternion(const Quaternion& q) noexcept {
  const auto& [x, y, z, w] = q;
  const double n = 2 / (x * x + y * y + z * z + w * w);
  if (!std::isnormal(n)) return std::nullopt;
  return Mat3{1 - n * (y * y + z * z), n * (x * y - z * w),     n * (x * z + y * w),  //
              n * (x * y + z * w),     1 - n * (x * x + z * z), n * (y * z - x * w),  //
              n * (x * z - y * w),     n * (y * z + x * w),     1 - n * (x * x + y * y)};
}

Quaternion quaternion_from_rotation(const Mat3& r) noexcept {
  // Four times the squares of w, x, y, z; they sum to 4, so the largest is at least 1.
  const std::array<double, 4> squares = {1 + r[0] + r[4] + r[8], 1 + r[0] - r[4] - r[8], 1 - r[0] + r[4] - r[8],
                                         1 - r[0] - r[4] + r[8]};
  // Each candidate is the quaternion times its own divisor, which normalising takes out again.
  Quaternion q;
  switch (std::max_element(squares.begin(), squares.end()) - squares.begin()) {
    case 0: q = {r[7] - r[5], r[2] - r[6], r[3] - r[1], squares[0]}; break;
    case 1: q = {squares[1], r[1] + r[3], r[2] + r[6], r[7] - r[5]}; break;
    case 2: q = {r[1] + r[3], squares[2], r[5] + r[7], r[2] - r[6]}; break;
    default: q = {r[2] + r[6], r[5] + r[7], squares[3], r[3] - r[1]}; break;
  }
  const double length = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
  const double scale = q.w < 0 ? -1 / length : 1 / length;
  return {q.x * scale, q.y * scale, q.z * scale, q.w * scale};
}

Vec3 Rigid3::operator*(const Vec3& point) const noexcept {
  const Vec3 rotated = rotate(rotation, point);
  return {rotated[0] + translation[0], rotated[1] + translation[1], rotated[2] + translation[2]};
}

Rigid3 Rigid3::operator*(const Rigid3& other) const noexcept {
  return {multiply(rotation, other.rotation), *this * other.translation};
}

Rigid3 Rigid3::inverse() const noexcept {
  const Mat3 transposed = transpose(rotation);
  const Vec3 back = rotate(transposed, translation);
  return {transposed, {-back[0], -back[1], -back[2]}};
}

}  // namespace lingbot_map
