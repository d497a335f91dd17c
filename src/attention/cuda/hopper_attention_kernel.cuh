#pragma once

#include <cstdint>

#include "attention/cuda/hopper_attention_layout.cuh"
#include "attention/cuda/hopper_attention_rows.cuh"
#include "attention/cuda/hopper_instructions.cuh"

namespace lingbot_map::cuda::hopper {

/// The one thread that brings keys and values.
template <typename Tuned>
__device__ __forceinline__ void copy_tiles(std::uint32_t memory, const CUtensorMap* key_map,
                                           const CUtensorMap* value_map, const KeyTiles& tiles, int head, int group) {
  using At = Layout<Tuned::stages>;
  constexpr int kRows = kKeyTile / Tuned::cluster;  // this block's part of what the cluster shares
  constexpr auto kAll = static_cast<std::uint16_t>((1 << Tuned::cluster) - 1);
  const int part = Tuned::cluster > 1 ? static_cast<int>(cluster_rank()) : 0;

  const auto bring = [&](const CUtensorMap* map, std::uint32_t target, std::uint32_t full, std::uint32_t empty,
                         std::uint32_t parity, int row) {
    barrier_wait(empty, parity ^ 1);
    barrier_expect(full, kTileBytes);
    target += part * kRows * kRowBytes;
    row += part * kRows;
    if constexpr (Tuned::cluster > 1) {
      load_box_shared(target, map, full, head * kHeadDim, row, group, kAll);
    } else {
      load_box(target, map, full, head * kHeadDim, row, group);
    }
  };
  Stage<Tuned::stages> stage;
  for (int n = 0; n < tiles.count; ++n, stage = stage.next()) {
    const std::uint32_t tile = stage.index * kTileBytes;
    const std::uint32_t barrier = memory + stage.index * 8;
    bring(key_map, memory + At::kKeys + tile, barrier + At::kKeysFull, barrier + At::kKeysEmpty, stage.parity,
          tiles.row(n));
    bring(value_map, memory + At::kValues + tile, barrier + At::kValuesFull, barrier + At::kValuesEmpty, stage.parity,
          tiles.row(n));
  }
}

template <typename Element, typename Tuned>
__global__ __launch_bounds__(kThreads, 1) void attention_kernel(const __grid_constant__ CUtensorMap query_map,
                                                                const __grid_constant__ CUtensorMap key_map,
                                                                const __grid_constant__ CUtensorMap value_map,
                                                                const __grid_constant__ CUtensorMap out_map,
                                                                const Work work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using At = Layout<Tuned::stages>;
  extern __shared__ std::uint8_t shared[];
  const std::uint32_t memory = (shared_address(shared) + 1023) / 1024 * 1024;

  const int query_row = blockIdx.x * kQueryTile;
  const int head = blockIdx.y;
  const int group = blockIdx.z / work.splits;
  const KeyTiles tiles(work, blockIdx.z % work.splits);

  if (threadIdx.x == 0) {
    prefetch_map(&query_map);
    prefetch_map(&key_map);
    prefetch_map(&value_map);
    barrier_init(memory + At::kQueriesFull, 1);
    for (int i = 0; i < Tuned::stages; ++i) {
      constexpr int kWarps = 8 * Tuned::cluster;
      barrier_init(memory + At::kKeysFull + i * 8, 1);
      barrier_init(memory + At::kKeysEmpty + i * 8, kWarps);
      barrier_init(memory + At::kValuesFull + i * 8, 1);
      barrier_init(memory + At::kValuesEmpty + i * 8, kWarps);
    }
    barrier_init_fence();
  }
  if constexpr (Tuned::cluster > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }

  const int warpgroup = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 128, 0);
  if (warpgroup == 0) {
    registers_release<24>();
    if (threadIdx.x == 0 && tiles.count > 0) {
      barrier_expect(memory + At::kQueriesFull, kTileBytes);
      load_box(memory + At::kQueries, &query_map, memory + At::kQueriesFull, head * kHeadDim, query_row, group);
      copy_tiles<Tuned>(memory, &key_map, &value_map, tiles, head, group);
    }
    __syncwarp();
  } else {
    registers_take<240>();
    QueryRows<Element, Tuned> rows;
    rows.memory = memory;
    rows.warpgroup = warpgroup - 1;
    rows.lane = threadIdx.x % 32;
    if (tiles.count > 0) {
      rows.attend(tiles);
    } else {
      rows.nothing();
    }
    if (work.splits == 1) {
      rows.write(&out_map, head, query_row, work.queries, group);
    } else {
      rows.write_partial(work);
    }
    __syncwarp();
  }
  if constexpr (Tuned::cluster > 1) {
    cluster_sync();  // nobody leaves while its partner may still arrive at its barriers
  }
#else
  __trap();
#endif
}

}  // namespace lingbot_map::cuda::hopper
