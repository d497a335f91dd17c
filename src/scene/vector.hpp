#pragma once

#include <cmath>

#include "geometry/rigid.hpp"

namespace lingbot_map::scene {

/// A point or a direction of a generated scene, in metres.
struct Float3 {
  float x = 0;
  float y = 0;
  float z = 0;
};

constexpr Float3 operator+(Float3 a, Float3 b) noexcept { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
constexpr Float3 operator-(Float3 a, Float3 b) noexcept { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
constexpr Float3 operator-(Float3 a) noexcept { return {-a.x, -a.y, -a.z}; }
constexpr Float3 operator*(Float3 a, float s) noexcept { return {a.x * s, a.y * s, a.z * s}; }
constexpr Float3 operator*(Float3 a, Float3 b) noexcept { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
constexpr float dot(Float3 a, Float3 b) noexcept { return a.x * b.x + a.y * b.y + a.z * b.z; }
constexpr Float3 cross(Float3 a, Float3 b) noexcept {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline float length(Float3 a) noexcept { return std::sqrt(dot(a, a)); }
inline Float3 normalized(Float3 a) noexcept { return a * (1 / length(a)); }
inline Float3 absolute(Float3 a) noexcept { return {std::abs(a.x), std::abs(a.y), std::abs(a.z)}; }
constexpr Float3 mix(Float3 a, Float3 b, float share_of_b) noexcept { return a + (b - a) * share_of_b; }

inline Float3 to_float(const Vec3& v) noexcept {
  return {static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2])};
}

}  // namespace lingbot_map::scene
