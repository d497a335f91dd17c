#pragma once

#include <cstdint>

#include "backend/cuda/hopper_product_instructions.cuh"
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

__device__ __forceinline__ float gelu(float x) {
  // x Phi(x) = max(x, 0) - |x| Phi(-|x|), and log2 Phi(-a) is close to a polynomial. Its coefficients minimise the
  // largest error of the result: 5.1e-8, 7.1e-8 with rounding. Past 8 the product is below 1e-14.
  const float a = fminf(fabsf(x), 8.0F);
  float exponent = 3.309282329e-5F;
  exponent = fmaf(exponent, a, -7.692197687e-4F);
  exponent = fmaf(exponent, a, 8.080717176e-3F);
  exponent = fmaf(exponent, a, -5.341210589e-2F);
  exponent = fmaf(exponent, a, -4.587709606e-1F);
  exponent = fmaf(exponent, a, -1.151201725F);
  exponent = fmaf(exponent, a, -9.999930859e-1F);
  float tail;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(tail) : "f"(exponent));
  float positive;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(positive) : "f"(x));
  return fmaf(-a, tail, positive);
}

/// Rounds a warp's 16 rows of 64 columns and writes them in lines of 128 bytes; target(n) is where row 4 n + lane / 8
/// begins, null for nowhere. `values` are held as in Sums.
template <typename Element, typename Target>
__device__ __forceinline__ void store_lines(const float* values, std::uint32_t lines, int lane, const Target& target) {
  __syncwarp();  // the lines before have been read
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const std::uint32_t four[4] = {
        pack<Element>(values[4 * i], values[4 * i + 1]), pack<Element>(values[4 * i + 2], values[4 * i + 3]),
        pack<Element>(values[4 * i + 4], values[4 * i + 5]), pack<Element>(values[4 * i + 6], values[4 * i + 7])};
    const int row = lane % 16;
    const int chunk = i + lane / 16;
    store_matrices(lines + row * kLineBytes + (chunk ^ (row % 8)) * 16, four);
  }
  __syncwarp();
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const int row = 4 * n + lane / 8;
    const int chunk = lane % 8;
    const uint4 value = load_shared(lines + row * kLineBytes + (chunk ^ (row % 8)) * 16);
    Element* const to = target(n);
    if (to != nullptr) {
      reinterpret_cast<uint4*>(to)[chunk] = value;
    }
  }
}

/// Two rows of a thread as q, k and v heads.
template <typename Tuned>
struct HeadRows {
  using Element = typename Tuned::Element;
  float2 angles[2][8];      ///< of the pairs of a head in the thread's columns: (cos, sin)
  std::int64_t targets[4];  ///< rows of keys and values for store_lines()

  /// `row` of the thread's first row, `first` of its warp's.
  __device__ __forceinline__ void load(const SplitHeads& heads, int rows, int first, int lane) {
    const int tokens = static_cast<int>(heads.tokens);
    if (heads.temporal_pairs + heads.spatial_pairs > 0) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = min(first + lane / 4 + 8 * r, rows - 1);
        const int frame = row / tokens;
        const int spatial_row = heads.one_spatial_row ? 0 : row - frame * tokens;
        const float2* temporal =
            reinterpret_cast<const float2*>(heads.temporal) + static_cast<std::int64_t>(frame) * heads.temporal_pairs;
        const float2* spatial = reinterpret_cast<const float2*>(heads.spatial) +
                                static_cast<std::int64_t>(spatial_row) * heads.spatial_pairs - heads.temporal_pairs;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int interleaved = 4 * n + lane % 4;
          const int halved = n / 4 * 16 + n / 2 % 2 * 8 + lane % 4 * 2 + n % 2;
          const int pair = heads.interleaved ? interleaved : halved;
          angles[r][n] = (pair < heads.temporal_pairs ? temporal : spatial)[pair];
        }
      }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int row = min(first + 4 * n + lane / 8, rows - 1);
      targets[n] = row;
      if (heads.places != nullptr) {
        const int frame = row / tokens;
        const int token = row - frame * tokens;
        targets[n] = token < heads.specials ? heads.places[2 * frame + 1] + token
                                            : heads.places[2 * frame] + token - heads.specials;
      }
    }
  }

  /// LayerNorm over the head, whose 64 columns four neighbouring lanes hold. `norm`: 64 weights, 64 biases.
  __device__ __forceinline__ static void normalise(float* values, const float* norm, float epsilon, int lane) {
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum += values[4 * i + 2 * r] + values[4 * i + 2 * r + 1];
      }
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, 2);
      const float mean = sum / kHeadDim;
      float squares = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& value = values[4 * i + 2 * r + e];
          value -= mean;
          squares += value * value;
        }
      }
      squares += __shfl_xor_sync(0xFFFFFFFF, squares, 1);
      squares += __shfl_xor_sync(0xFFFFFFFF, squares, 2);
      inverse[r] = 1.0F / sqrtf(squares / kHeadDim + epsilon);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 weight = *reinterpret_cast<const float2*>(norm + 8 * i + lane % 4 * 2);
      const float2 bias = *reinterpret_cast<const float2*>(norm + kHeadDim + 8 * i + lane % 4 * 2);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        values[4 * i + 2 * r] = values[4 * i + 2 * r] * inverse[r] * weight.x + bias.x;
        values[4 * i + 2 * r + 1] = values[4 * i + 2 * r + 1] * inverse[r] * weight.y + bias.y;
      }
    }
  }

  __device__ __forceinline__ static void turn(float& first, float& second, float2 angle) {
    const float x = first;
    const float y = second;
    first = x * angle.x - y * angle.y;
    second = x * angle.y + y * angle.x;
  }

  __device__ __forceinline__ void turn(float* values, bool interleaved) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (interleaved) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          turn(values[4 * i + 2 * r], values[4 * i + 2 * r + 1], angles[r][i]);
        }
      } else {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int at = n / 4 * 16 + n / 2 % 2 * 4 + 2 * r + n % 2;
          turn(values[at], values[at + 8], angles[r][n]);
        }
      }
    }
  }

  /// The head in columns [column, column + 64) of the product.
  __device__ __forceinline__ void finish(float* values, const SplitHeads& heads, const float* norms, int column,
                                         std::uint32_t lines, int rows, int first, int lane) const {
    const int kind = column / kHeadDim / heads.heads;  // q, k, v
    const int offset = column - kind * heads.heads * kHeadDim;
    if (kind == 0 ? heads.q_weight != nullptr : kind == 1 && heads.k_weight != nullptr) {
      normalise(values, norms + kind * 2 * kHeadDim, kind == 0 ? heads.q_epsilon : heads.k_epsilon, lane);
    }
    if (kind < 2 && heads.temporal_pairs + heads.spatial_pairs > 0) {
      turn(values, heads.interleaved);
    }
    void* const plane = kind == 0 ? heads.q : kind == 1 ? heads.keys : heads.values;
    const std::int64_t stride = kind == 0 ? heads.q_stride : kind == 1 ? heads.keys_stride : heads.values_stride;
    store_lines<Element>(values, lines, lane, [&](int n) -> Element* {
      const int row = first + 4 * n + lane / 8;
      const std::int64_t target = kind == 0 ? row : targets[n];
      return row < rows ? static_cast<Element*>(plane) + target * stride + offset : nullptr;
    });
  }
};

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
