#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lingbot_map::scene {

/// Numbers from a seed, the same on every machine (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t bits() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  float uniform() noexcept { return static_cast<float>(bits() >> 40) * 0x1p-24F; }
  float uniform(float low, float high) noexcept { return low + (high - low) * uniform(); }
  /// In [low, high].
  int integer(int low, int high) noexcept {
    return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(float probability) noexcept { return uniform() < probability; }
  float sign() noexcept { return chance(0.5F) ? 1.F : -1.F; }
  template <typename T, std::size_t N>
  const T& pick(const T (&choices)[N]) noexcept {
    return choices[bits() % N];
  }
  template <typename T>
  const T& pick(std::span<const T> choices) noexcept {
    return choices[bits() % choices.size()];
  }
  /// Another, independent source. What it is used for may change without changing what follows here.
  Random child() noexcept { return Random(bits()); }

 private:
  std::uint64_t state_;
};

}  // namespace lingbot_map::scene
