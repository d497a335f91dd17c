#pragma once

#include <cstdint>

#include "backend/cuda/kernels.hpp"

namespace lingbot_map::cuda::hopper_gemm {

inline constexpr int kTileRows = 128;   ///< two warpgroups of 64
inline constexpr int kDepth = 64;       ///< columns of x and W in a stage
inline constexpr int kLineBytes = 128;  ///< of these, in one row
inline constexpr int kComputeThreads = 256;
inline constexpr int kThreads = 384;         ///< one warpgroup that copies, two that compute
inline constexpr int kSharedBytes = 232448;  ///< what a block of sm_90 may have
inline constexpr int kHeadDim = 64;
inline constexpr int kBlockColumns = 64;  ///< what is rounded and written at once; a head
inline constexpr int kBlockSums = 32;     ///< of a thread, in so many columns

enum class Epilogue { heads, gelu, add, plain };

/// What is chosen by measuring.
///   tile_columns      128, 192 or 256
///   blocks_down       blocks of a cluster, one below the other, that share what they copy of W
///   blocks_across     the same side by side, for x
///   depth_parts       blocks of a cluster that share the depth of a tile
template <typename ElementType, Epilogue what, bool float32_result, int tile_columns, int blocks_down,
          int blocks_across, int depth_parts>
struct Tuning {
  using Element = ElementType;
  static constexpr Epilogue kEpilogue = what;
  static constexpr bool kFloat32 = float32_result;
  static constexpr int kColumns = tile_columns;
  static constexpr int kDown = blocks_down;
  static constexpr int kAcross = blocks_across;
  static constexpr int kParts = depth_parts;
  static constexpr int kCluster = kDown * kAcross * kParts;
  static constexpr int kSums = kColumns / 2;               ///< of a thread
  static constexpr int kFinalColumns = kColumns / kParts;  ///< of a tile, that one of the parts completes
  static constexpr int kFinal = kSums / kParts;            ///< of a thread
  /// What the result adds to is read before the product when it fits the registers.
  static constexpr bool kEarlyBase = kFinal <= 64;
  static_assert(kCluster <= 8 && (kFloat32 || kParts == 1) && kFinalColumns % kBlockColumns == 0);
  static_assert(kTileRows / kAcross % 8 == 0 && kColumns / kDown % 8 == 0);
};

/// Shared memory behind an address that is a multiple of 1024.
template <typename Tuned>
struct Layout {
  static constexpr int kXBytes = kTileRows * kLineBytes;
  static constexpr int kStageBytes = kXBytes + Tuned::kColumns * kLineBytes;
  /// Sums from the other parts; where there is no room beside the stages, in their place.
  static constexpr int kReceivedBytes = (Tuned::kParts - 1) * kComputeThreads * Tuned::kFinal * 4;
  static constexpr bool kReceivesInStages = kReceivedBytes > 48 * 1024;
  /// 16 rows of a head, or of as many columns, of each warp.
  static constexpr int kLinesBytes = Tuned::kFloat32 ? 0 : kComputeThreads / 32 * 16 * kLineBytes;
  static constexpr int kNormBytes = Tuned::kEpilogue == Epilogue::heads ? 4 * kHeadDim * 4 : 0;
  static constexpr int kBarrierBytes = 256;
  static constexpr int kFree =
      kSharedBytes - 1024 - (kReceivesInStages ? 0 : kReceivedBytes) - kLinesBytes - kNormBytes - kBarrierBytes;
  static constexpr int kStages = kFree / kStageBytes < 8 ? kFree / kStageBytes : 8;

  static constexpr std::uint32_t kLines = kStages * kStageBytes;
  static constexpr std::uint32_t kNorms = kLines + kLinesBytes;
  static constexpr std::uint32_t kBehindNorms = kNorms + kNormBytes;
  static constexpr std::uint32_t kReceived = kReceivesInStages ? 0 : kBehindNorms;
  static constexpr std::uint32_t kFull = kBehindNorms + (kReceivesInStages ? 0 : kReceivedBytes);
  static constexpr std::uint32_t kEmpty = kFull + 8 * kStages;
  static constexpr std::uint32_t kReceivedAll = kEmpty + 8 * kStages;
  static constexpr std::uint32_t kBytes = kFull + kBarrierBytes + 1024;  ///< with room to align
  static_assert(kStages >= 3 && kReceivedBytes <= kStages * kStageBytes && kBytes <= kSharedBytes);
  static_assert(16 * kStages + 8 <= kBarrierBytes);
};

/// The sizes of one launch: one row of blocks, whole clusters, those below each other first.
struct Work {
  int rows;
  int columns;
  int steps;         ///< of the depth: stages
  int cluster_rows;  ///< clusters below each other
  const float* bias;
  const float* scale;
  void* y;
  std::int64_t y_stride;
  SplitHeads heads;
};

/// Where a block stands.
template <typename Tuned>
struct Place {
  int down;  ///< in its cluster
  int across;
  int part;
  int row;  ///< of the whole product
  int column;
  int first_step;
  int steps;

  __device__ explicit Place(const Work& work) {
    const int rank = static_cast<int>(blockIdx.x) % Tuned::kCluster;
    const int cluster = static_cast<int>(blockIdx.x) / Tuned::kCluster;
    part = rank % Tuned::kParts;
    across = rank / Tuned::kParts % Tuned::kAcross;
    down = rank / (Tuned::kParts * Tuned::kAcross);
    row = (cluster % work.cluster_rows * Tuned::kDown + down) * kTileRows;
    column = (cluster / work.cluster_rows * Tuned::kAcross + across) * Tuned::kColumns;
    const int share = (work.steps + Tuned::kParts - 1) / Tuned::kParts;
    first_step = min(part * share, work.steps);
    steps = min(first_step + share, work.steps) - first_step;
  }

  __device__ static int rank_of(int down, int across, int part) {
    return (down * Tuned::kAcross + across) * Tuned::kParts + part;
  }
};

/// Position in the ring of stages.
template <int stages>
struct Stage {
  int index = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++index == stages) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace lingbot_map::cuda::hopper_gemm
