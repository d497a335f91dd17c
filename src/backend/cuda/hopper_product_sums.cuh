#pragma once

#include <cstdint>

#include "backend/cuda/hopper_product_epilogue.cuh"
#include "backend/cuda/hopper_product_instructions.cuh"
#include "backend/cuda/hopper_product_layout.cuh"

namespace lingbot_map::cuda::hopper_gemm {

/// One warpgroup's 64 rows. A thread has rows r and r + 8, r = 16 * warp + lane / 4, and of every 8 columns the two at
/// 2 * (lane % 4): element 4 i + 2 (row is r + 8) + (column is odd) of an array belongs to columns 8 i ...
template <typename Tuned>
struct Sums {
  using Element = typename Tuned::Element;
  using At = Layout<Tuned>;

  float sums[Tuned::kSums];
  const Work& work;
  const Place<Tuned>& place;
  std::uint32_t memory;
  int thread;  ///< of kComputeThreads
  int lane;
  int warp_row;  ///< the warp's first, of the whole product

  __device__ Sums(const Work& work, const Place<Tuned>& place, std::uint32_t memory, int thread)
      : work(work),
        place(place),
        memory(memory),
        thread(thread),
        lane(static_cast<int>(threadIdx.x % 32)),
        warp_row(place.row + thread / 32 * 16) {}

  /// Bias, where it comes before everything else: nobody waits for it here.
  __device__ __forceinline__ void begin() {
    const bool with_bias = Tuned::kEpilogue != Epilogue::add && work.bias != nullptr && place.part == 0;
#pragma unroll
    for (int i = 0; i < Tuned::kColumns / 8; ++i) {
      const int column = place.column + 8 * i + lane % 4 * 2;
      float2 value = make_float2(0, 0);
      if (with_bias && column < work.columns) {
        value = __ldg(reinterpret_cast<const float2*>(work.bias + column));
      }
      sums[4 * i] = sums[4 * i + 2] = value.x;
      sums[4 * i + 1] = sums[4 * i + 3] = value.y;
    }
  }

  __device__ __forceinline__ void multiply_all() {
    // Whom a stage's release concerns: every block that copies into it.
    const bool tells = lane < Tuned::kAcross + Tuned::kDown - 1;
    int target = Place<Tuned>::rank_of(place.down, lane, place.part);
    if (lane >= Tuned::kAcross) {
      const int other = lane - Tuned::kAcross;
      target = Place<Tuned>::rank_of(other < place.down ? other : other + 1, place.across, place.part);
    }
    const std::uint32_t empty = address_in(memory + At::kEmpty, tells ? target : 0);
    const std::uint64_t x = tile_descriptor(memory + thread / 128 * 64 * kLineBytes);
    const std::uint64_t w = tile_descriptor(memory + At::kXBytes);

#pragma unroll
    for (int i = 0; i < Tuned::kSums; ++i) {
      pin(sums[i]);
    }
    Stage<At::kStages> stage;
    int last = 0;
    // Releases that no copy waits for are not sent: their block may be gone.
    const int last_release = tells ? place.steps - At::kStages : 0;
    for (int step = 0; step < place.steps; ++step) {
      barrier_wait(memory + At::kFull + stage.index * 8, stage.parity);
      const std::uint64_t offset = static_cast<std::uint32_t>(stage.index * At::kStageBytes) >> 4;
      product_fence();
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k) {
        multiply<Element>(sums, x + offset + 2 * k, w + offset + 2 * k);
      }
      product_commit();
      product_wait<1>();
      if (step > 0 && step <= last_release) {
        barrier_arrive(empty + last * 8);
      }
      last = stage.index;
      stage.advance();
    }
    product_wait<0>();
#pragma unroll
    for (int i = 0; i < Tuned::kSums; ++i) {
      pin(sums[i]);
    }
  }

  /// Adds up the parts of the depth: this block's own and then the others' in their order, for the columns that it
  /// completes.
  __device__ __forceinline__ void exchange(float (&finals)[Tuned::kFinal]) {
    constexpr int kFours = Tuned::kFinal / 4;
    const auto address = [&](int slot, int four) {
      return memory + At::kReceived + ((slot * kFours + four) * kComputeThreads + thread) * 16;
    };
#pragma unroll
    for (int part = 0; part < Tuned::kParts; ++part) {
      const float* values = sums + part * Tuned::kFinal;
      if (part == place.part) {
#pragma unroll
        for (int i = 0; i < Tuned::kFinal; ++i) {
          finals[i] = values[i];
        }
      } else {
        const int rank = Place<Tuned>::rank_of(place.down, place.across, part);
        const std::uint32_t target = address_in(address(place.part < part ? place.part : place.part - 1, 0), rank);
        const std::uint32_t barrier = address_in(memory + At::kReceivedAll, rank);
#pragma unroll
        for (int i = 0; i < kFours; ++i) {
          send(target + i * kComputeThreads * 16, values[4 * i], values[4 * i + 1], values[4 * i + 2],
               values[4 * i + 3], barrier);
        }
      }
    }
    barrier_wait<true>(memory + At::kReceivedAll, 0);
#pragma unroll
    for (int slot = 0; slot < Tuned::kParts - 1; ++slot) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) {
        const uint4 four = load_shared(address(slot, i));
        finals[4 * i] += __uint_as_float(four.x);
        finals[4 * i + 1] += __uint_as_float(four.y);
        finals[4 * i + 2] += __uint_as_float(four.z);
        finals[4 * i + 3] += __uint_as_float(four.w);
      }
    }
  }

  /// Calls action(index of the first of two values, row, column) for the thread's pairs of values inside the product,
  /// `blocks` of 8 columns from the `first`-th on, of those that this block completes.
  template <int first, int blocks, typename Action>
  __device__ __forceinline__ void for_pairs(const Action& action) const {
    const int start = place.column + place.part * Tuned::kFinalColumns + lane % 4 * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + lane / 4 + 8 * r;
      if (row < work.rows) {
#pragma unroll
        for (int i = first; i < first + blocks; ++i) {
          if (start + 8 * i < work.columns) {
            action(4 * i + 2 * r, row, start + 8 * i);
          }
        }
      }
    }
  }

  __device__ __forceinline__ float2* pair_of_y(int row, int column) const {
    return reinterpret_cast<float2*>(static_cast<float*>(work.y) + row * work.y_stride + column);
  }

  /// What the result adds to, bias included.
  template <int first, int blocks, int count>
  __device__ __forceinline__ void load_base(float (&base)[count]) const {
    for_pairs<first, blocks>([&](int at, int row, int column) {
      const float2 y = *pair_of_y(row, column);
      const float2 bias =
          work.bias != nullptr ? __ldg(reinterpret_cast<const float2*>(work.bias + column)) : make_float2(0, 0);
      base[at % count] = y.x + bias.x;
      base[at % count + 1] = y.y + bias.y;
    });
  }

  template <int first, int blocks, int count>
  __device__ __forceinline__ void store_added(const float* finals, const float (&base)[count]) const {
    for_pairs<first, blocks>([&](int at, int row, int column) {
      const float2 scale =
          work.scale != nullptr ? __ldg(reinterpret_cast<const float2*>(work.scale + column)) : make_float2(1, 1);
      *pair_of_y(row, column) =
          make_float2(fmaf(scale.x, finals[at], base[at % count]), fmaf(scale.y, finals[at + 1], base[at % count + 1]));
    });
  }

  template <int first>
  __device__ __forceinline__ void add_from(const float* finals) const {
    if constexpr (first < Tuned::kFinalColumns / 8) {
      constexpr int kBlocks = 8;
      float base[4 * kBlocks];
      load_base<first, kBlocks>(base);
      store_added<first, kBlocks>(finals, base);
      add_from<first + kBlocks>(finals);
    }
  }

  __device__ __forceinline__ void store_plain(const float* finals) const {
    for_pairs<0, Tuned::kFinalColumns / 8>(
        [&](int at, int row, int column) { *pair_of_y(row, column) = make_float2(finals[at], finals[at + 1]); });
  }

  /// 16-bit results of 64 columns from `column` on.
  __device__ __forceinline__ void store_rounded(const float* values, int column) const {
    store_lines<Element>(values, lines(), lane, [&](int n) -> Element* {
      const int row = warp_row + 4 * n + lane / 8;
      return row < work.rows ? static_cast<Element*>(work.y) + row * work.y_stride + column : nullptr;
    });
  }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t lines() const {
    return memory + At::kLines + thread / 32 * 16 * kLineBytes;
  }
};

}  // namespace lingbot_map::cuda::hopper_gemm
