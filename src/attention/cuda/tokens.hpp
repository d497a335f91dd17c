#pragma once

#include <cstdint>

namespace lingbot_map::cuda {

/// What kernels are told to be the rows of a plane, always the same, so that a recorded launch stays valid while the
/// cache grows: they read how many there really are on the device. 2.8 million kept frames.
inline constexpr std::int64_t kAddressableTokens = std::int64_t{1} << 24;

/// Kernels read whole tiles: so many rows past the range, without counting them.
inline constexpr std::int64_t kMostTokensPastRange = 256;

}  // namespace lingbot_map::cuda
