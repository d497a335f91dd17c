#include "geometry/similarity.hpp"

namespace lingbot_map {
namespace {

Vec3 scaled(double scale, const Vec3& v) noexcept { return {scale * v[0], scale * v[1], scale * v[2]}; }

}  // namespace

Vec3 Sim3::operator*(const Vec3& point) const noexcept { return Rigid3{rotation, translation} * scaled(scale, point); }

Sim3 Sim3::operator*(const Sim3& other) const noexcept {
  const Rigid3 turned = Rigid3{rotation, {}} * Rigid3{other.rotation, {}};
  return {scale * other.scale, turned.rotation, *this * other.translation};
}

Rigid3 Sim3::operator*(const Rigid3& pose) const noexcept {
  const Rigid3 turned = Rigid3{rotation, {}} * Rigid3{pose.rotation, {}};
  return {turned.rotation, *this * pose.translation};
}

Sim3 Sim3::inverse() const noexcept {
  const Rigid3 back = Rigid3{rotation, translation}.inverse();
  return {1 / scale, back.rotation, scaled(1 / scale, back.translation)};
}

}  // namespace lingbot_map
