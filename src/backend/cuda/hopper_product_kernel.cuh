#pragma once

#include <cstdint>

#include "backend/cuda/hopper_product_epilogue.cuh"
#include "backend/cuda/hopper_product_instructions.cuh"
#include "backend/cuda/hopper_product_layout.cuh"
#include "backend/cuda/hopper_product_sums.cuh"

namespace lingbot_map::cuda::hopper_gemm {

/// The one thread that copies. The blocks of a cluster that need the same box bring a part of it each.
template <typename Tuned>
__device__ __forceinline__ void copy_stages(std::uint32_t memory, const CUtensorMap* x_map, const CUtensorMap* w_map,
                                            const Place<Tuned>& place) {
  using At = Layout<Tuned>;
  constexpr int kXRows = kTileRows / Tuned::kAcross;
  constexpr int kWRows = Tuned::kColumns / Tuned::kDown;
  std::uint32_t beside = 0;
  std::uint32_t below = 0;
  for (int i = 0; i < Tuned::kAcross; ++i) {
    beside |= 1U << Place<Tuned>::rank_of(place.down, i, place.part);
  }
  for (int i = 0; i < Tuned::kDown; ++i) {
    below |= 1U << Place<Tuned>::rank_of(i, place.across, place.part);
  }
  const auto copy_x = [&](int step, int index) {
    const std::uint32_t target = memory + index * At::kStageBytes + place.across * kXRows * kLineBytes;
    const std::uint32_t full = memory + At::kFull + index * 8;
    const int column = (place.first_step + step) * kDepth;
    const int row = place.row + place.across * kXRows;
    if constexpr (Tuned::kAcross > 1) {
      load_box_shared(target, x_map, full, column, row, static_cast<std::uint16_t>(beside));
    } else {
      load_box(target, x_map, full, column, row);
    }
  };
  const auto copy_w = [&](int step, int index) {
    const std::uint32_t target = memory + index * At::kStageBytes + At::kXBytes + place.down * kWRows * kLineBytes;
    const std::uint32_t full = memory + At::kFull + index * 8;
    const int column = (place.first_step + step) * kDepth;
    const int row = place.column + place.down * kWRows;
    if constexpr (Tuned::kDown > 1) {
      load_box_shared(target, w_map, full, column, row, static_cast<std::uint16_t>(below));
    } else {
      load_box(target, w_map, full, column, row);
    }
  };

  const int at_once = min(place.steps, At::kStages);
  for (int step = 0; step < at_once; ++step) {
    barrier_expect(memory + At::kFull + step * 8, At::kStageBytes);
    copy_w(step, step);
  }
  wait_for_previous();
  let_next_start();
  for (int step = 0; step < at_once; ++step) {
    copy_x(step, step);
  }
  Stage<At::kStages> stage;
  for (int step = at_once; step < place.steps; ++step, stage.advance()) {
    barrier_wait(memory + At::kEmpty + stage.index * 8, stage.parity);
    barrier_expect(memory + At::kFull + stage.index * 8, At::kStageBytes);
    copy_w(step, stage.index);
    copy_x(step, stage.index);
  }
}

template <typename Tuned>
__device__ __forceinline__ void compute(const Work& work, const Place<Tuned>& place, std::uint32_t memory,
                                        float* norms) {
  using At = Layout<Tuned>;
  const int thread = static_cast<int>(threadIdx.x - (kThreads - kComputeThreads));
  Sums<Tuned> tile(work, place, memory, thread);
  tile.begin();

  if constexpr (Tuned::kEpilogue == Epilogue::heads) {
    const SplitHeads& heads = work.heads;
    wait_for_previous();
    const bool of_q = thread < 2 * kHeadDim;
    const bool is_weight = thread % (2 * kHeadDim) < kHeadDim;
    const float* const source =
        of_q ? (is_weight ? heads.q_weight : heads.q_bias) : (is_weight ? heads.k_weight : heads.k_bias);
    norms[thread] = source != nullptr ? source[thread % kHeadDim] : 0.0F;
    HeadRows<Tuned> rows;
    rows.load(heads, work.rows, tile.warp_row, tile.lane);
    compute_sync();
    tile.multiply_all();
#pragma unroll
    for (int block = 0; block < Tuned::kColumns / kHeadDim; ++block) {
      const int column = place.column + block * kHeadDim;
      if (column < work.columns) {
        rows.finish(tile.sums + block * kBlockSums, heads, norms, column, tile.lines(), work.rows, tile.warp_row,
                    tile.lane);
      }
    }
  } else if constexpr (!Tuned::kFloat32) {
    tile.multiply_all();
    wait_for_previous();
#pragma unroll
    for (int block = 0; block < Tuned::kColumns / kBlockColumns; ++block) {
      const int column = place.column + block * kBlockColumns;
      if (column < work.columns) {
        float* const values = tile.sums + block * kBlockSums;
        if constexpr (Tuned::kEpilogue == Epilogue::gelu) {
#pragma unroll
          for (int i = 0; i < kBlockSums; ++i) {
            values[i] = gelu(values[i]);
          }
        }
        tile.store_rounded(values, column);
      }
    }
  } else {
    constexpr bool kAdds = Tuned::kEpilogue == Epilogue::add;
    constexpr bool kEarly = kAdds && Tuned::kEarlyBase;
    wait_for_previous();
    float base[kEarly ? Tuned::kFinal : 1];
    if constexpr (kEarly) {
      tile.template load_base<0, Tuned::kFinalColumns / 8>(base);
    }
    tile.multiply_all();
    float added[Tuned::kParts > 1 ? Tuned::kFinal : 1];
    const float* finals = tile.sums;
    if constexpr (Tuned::kParts > 1) {
      if constexpr (At::kReceivesInStages) {
        cluster_meet();  // nobody reads or fills a stage any more
      }
      tile.exchange(added);
      finals = added;
    }
    if constexpr (kEarly) {
      tile.template store_added<0, Tuned::kFinalColumns / 8>(finals, base);
    } else if constexpr (kAdds) {
      tile.template add_from<0>(finals);
    } else {
      tile.store_plain(finals);
    }
  }
}

template <typename Tuned>
__global__ __launch_bounds__(kThreads, 1) void product_kernel(const __grid_constant__ CUtensorMap x_map,
                                                              const __grid_constant__ CUtensorMap w_map,
                                                              const __grid_constant__ Work work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using At = Layout<Tuned>;
  extern __shared__ std::uint8_t shared[];
  const std::uint32_t unaligned = shared_address(shared);
  const std::uint32_t memory = (unaligned + 1023) / 1024 * 1024;
  const Place<Tuned> place(work);

  if (threadIdx.x == 0) {
    prefetch_map(&x_map);
    prefetch_map(&w_map);
    for (int i = 0; i < At::kStages; ++i) {
      barrier_init(memory + At::kFull + i * 8, 1);
      barrier_init(memory + At::kEmpty + i * 8, kComputeThreads / 32 * (Tuned::kAcross + Tuned::kDown - 1));
    }
    if constexpr (Tuned::kParts > 1) {
      barrier_init(memory + At::kReceivedAll, 1);
    }
    barrier_init_fence();
    if constexpr (Tuned::kParts > 1) {
      barrier_expect(memory + At::kReceivedAll, At::kReceivedBytes);
    }
  }
  if constexpr (Tuned::kCluster > 1) {
    cluster_meet();
  } else {
    __syncthreads();
  }

  const int warpgroup = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 128, 0);
  if (warpgroup == 0) {
    registers_release<40>();
    if (threadIdx.x == 0) {
      copy_stages<Tuned>(memory, &x_map, &w_map, place);
    }
    if constexpr (At::kReceivesInStages) {
      __syncwarp();
      cluster_meet();
    }
  } else {
    registers_take<232>();
    compute<Tuned>(work, place, memory, reinterpret_cast<float*>(shared + (memory - unaligned) + At::kNorms));
  }
  // Whatever others write to this block's memory was waited for: releases and boxes by barriers of the ring, sums by
  // theirs. So it may leave.
#else
  __trap();
#endif
}

}  // namespace lingbot_map::cuda::hopper_gemm
