#pragma once

#include <cstdint>

namespace lingbot_map::cuda::hopper {

inline constexpr int kHeadDim = 64;
inline constexpr int kQueryTile = 128;  ///< of a block: two warpgroups of 64
inline constexpr int kKeyTile = 128;
inline constexpr int kThreads = 384;  ///< one warpgroup that copies, two that compute
inline constexpr int kRowBytes = kHeadDim * 2;
inline constexpr int kTileBytes = kKeyTile * kRowBytes;
inline constexpr int kWarpgroupBytes = kTileBytes / 2;

/// What is chosen by measuring.
///   cluster_size          blocks that share the copies of keys and values: 1 or 2
///   stage_count           tiles of keys, and of values, in flight
///   batch_size            exponentials of a thread that are started before their results are used: 8 to 64
///   start_early           the first batch, under the products of the tile before
template <int cluster_size, int stage_count, int batch_size, bool start_early>
struct Tuning {
  static constexpr int cluster = cluster_size;
  static constexpr int stages = stage_count;
  static constexpr int batch = batch_size;
  static constexpr bool early = start_early;
};

/// The sizes of one launch: blocks (query tiles, rounded up to whole clusters; heads; groups * splits).
struct Work {
  const std::int64_t* range;  ///< see HopperAttention
  int queries;
  int keys;
  int splits;          ///< parts of the keys, each with its own block
  int first_share;     ///< of 1024: the first of two parts; 0: equal parts
  float* partial_out;  ///< [blocks in launch order, x fastest][128 queries][64], sums not divided; only with splits > 1
  float2* partial_sum;  ///< [the same][128] of (maximum in base 2, sum)
};

/// Shared memory behind an address that is a multiple of 1024.
template <int stages>
struct Layout {
  static constexpr std::uint32_t kQueries = 0;
  static constexpr std::uint32_t kKeys = kTileBytes;
  static constexpr std::uint32_t kValues = kKeys + stages * kTileBytes;
  static constexpr std::uint32_t kBarriers = kValues + stages * kTileBytes;
  static constexpr std::uint32_t kQueriesFull = kBarriers;
  static constexpr std::uint32_t kKeysFull = kQueriesFull + 8;
  static constexpr std::uint32_t kKeysEmpty = kKeysFull + 8 * stages;
  static constexpr std::uint32_t kValuesFull = kKeysEmpty + 8 * stages;
  static constexpr std::uint32_t kValuesEmpty = kValuesFull + 8 * stages;
  static constexpr std::uint32_t kEnd = kValuesEmpty + 8 * stages;
  static constexpr std::uint32_t kBytes = kEnd + 1024;  ///< with room to align
};

/// Which keys a block sees. The last tile, which alone may be short, is taken first, so that only the first needs a
/// mask.
struct KeyTiles {
  int first_row = 0;
  int first_tile = 0;
  int count = 0;
  int valid_in_last = kKeyTile;

  __device__ KeyTiles(const Work& work, int split) {
    int rows = work.keys;
    if (work.range != nullptr) {
      const auto limit = static_cast<std::int64_t>(work.keys);
      const std::int64_t start = min(max(work.range[0], std::int64_t{0}), limit);
      first_row = static_cast<int>(start);
      rows = static_cast<int>(min(max(work.range[1], std::int64_t{0}), limit - start));
    }
    const int tiles = (rows + kKeyTile - 1) / kKeyTile;
    int share = (tiles + work.splits - 1) / work.splits;
    if (work.first_share > 0) {
      share = static_cast<int>((std::int64_t{tiles} * work.first_share + 1023) / 1024);
    }
    first_tile = min(split * share, tiles);
    count = (split + 1 == work.splits ? tiles : min(first_tile + share, tiles)) - first_tile;
    valid_in_last = min(rows - (first_tile + count - 1) * kKeyTile, kKeyTile);
  }

  /// Row of the plane where the n-th tile starts.
  __device__ int row(int n) const { return first_row + (first_tile + (n == 0 ? count : n) - 1) * kKeyTile; }
};

/// Position in a ring of tiles.
template <int stages>
struct Stage {
  int index = 0;
  std::uint32_t parity = 0;

  __device__ Stage next() const { return index + 1 == stages ? Stage{0, parity ^ 1} : Stage{index + 1, parity}; }
};

}  // namespace lingbot_map::cuda::hopper
