#include "backend/cuda/early_launch.cuh"
#include "backend/cuda/kernels.hpp"
#include "backend/cuda/types.cuh"

namespace lingbot_map::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMostPairs = 4;  ///< of a lane: heads of up to 256 elements

/// The two elements that turn together as pair `pair`; without rotation any pairing will do.
__device__ __forceinline__ int2 elements_of(int pair, bool interleaved) {
  if (interleaved) return {2 * pair, 2 * pair + 1};
  const int first = pair / 16 * 32 + pair % 16;
  return {first, first + 16};
}

/// One head of one token in a warp, its pairs spread over the lanes.
template <int kPairs>
struct Head {
  float first[kPairs];
  float second[kPairs];
};

template <int kPairs>
__device__ __forceinline__ Head<kPairs> load(const float* x, int pairs, bool interleaved, int lane) {
  Head<kPairs> head;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = lane + 32 * i;
    const int2 at = elements_of(pair, interleaved);
    head.first[i] = pair < pairs ? x[at.x] : 0.0F;
    head.second[i] = pair < pairs ? x[at.y] : 0.0F;
  }
  return head;
}

template <int kPairs>
__device__ __forceinline__ void normalise(Head<kPairs>& head, const float* __restrict__ weight,
                                          const float* __restrict__ bias, float epsilon, int pairs, bool interleaved,
                                          int lane) {
  const float count = static_cast<float>(2 * pairs);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) sum += head.first[i] + head.second[i];
  const float mean = warp_sum(sum) / count;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    if (lane + 32 * i >= pairs) continue;
    head.first[i] -= mean;
    head.second[i] -= mean;
    squares += head.first[i] * head.first[i] + head.second[i] * head.second[i];
  }
  const float inverse = 1.0F / sqrtf(warp_sum(squares) / count + epsilon);
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = lane + 32 * i;
    if (pair >= pairs) continue;
    const int2 at = elements_of(pair, interleaved);
    head.first[i] = head.first[i] * inverse * weight[at.x] + bias[at.x];
    head.second[i] = head.second[i] * inverse * weight[at.y] + bias[at.y];
  }
}

template <int kPairs>
__device__ __forceinline__ void turn(Head<kPairs>& head, const float2 (&angles)[kPairs]) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const float first = head.first[i];
    const float second = head.second[i];
    head.first[i] = first * angles[i].x - second * angles[i].y;
    head.second[i] = first * angles[i].y + second * angles[i].x;
  }
}

template <typename T, int kPairs>
__device__ __forceinline__ void store(const Head<kPairs>& head, T* __restrict__ y, int pairs, bool interleaved,
                                      int lane) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = lane + 32 * i;
    if (pair >= pairs) continue;
    const int2 at = elements_of(pair, interleaved);
    y[at.x] = from_float<T>(head.first[i]);
    y[at.y] = from_float<T>(head.second[i]);
  }
}

/// One warp for q, k and v of kHeads heads of one token: what it reads is asked for before any of it is used.
template <typename T, int kPairs, int kHeads>
__global__ void __launch_bounds__(kThreads) split(const SplitHeads a) {
  let_next_start();
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int groups = a.heads / kHeads;
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const std::int64_t row = item / groups;
  const int head_offset = static_cast<int>(item % groups) * kHeads * a.head_dim;
  if (row >= a.frames * a.tokens) return;
  const std::int64_t frame = row / a.tokens;
  const std::int64_t token = row % a.tokens;
  const int pairs = a.head_dim / 2;
  const bool rotates = a.temporal_pairs + a.spatial_pairs > 0;
  const bool interleaved = a.interleaved || !rotates;

  const float* x = a.qkv + row * a.qkv_stride + head_offset;
  const int width = a.heads * a.head_dim;
  Head<kPairs> q[kHeads];
  Head<kPairs> k[kHeads];
  Head<kPairs> v[kHeads];
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    q[i] = load<kPairs>(x + i * a.head_dim, pairs, interleaved, lane);
    k[i] = load<kPairs>(x + width + i * a.head_dim, pairs, interleaved, lane);
    v[i] = load<kPairs>(x + 2 * width + i * a.head_dim, pairs, interleaved, lane);
  }
  std::int64_t target = row;
  if (a.places != nullptr) {
    target = token < a.specials ? a.places[2 * frame + 1] + token : a.places[2 * frame] + token - a.specials;
  }
  float2 angles[kPairs];
  if (rotates) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int pair = lane + 32 * i;
      angles[i] = {1.0F, 0.0F};
      if (pair < a.temporal_pairs) {
        angles[i] = reinterpret_cast<const float2*>(a.temporal)[frame * a.temporal_pairs + pair];
      } else if (pair < pairs) {
        const std::int64_t spatial_row = a.one_spatial_row ? 0 : token;
        angles[i] = reinterpret_cast<const float2*>(a.spatial)[spatial_row * a.spatial_pairs + pair - a.temporal_pairs];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    if (a.q_weight != nullptr) normalise(q[i], a.q_weight, a.q_bias, a.q_epsilon, pairs, interleaved, lane);
    if (a.k_weight != nullptr) normalise(k[i], a.k_weight, a.k_bias, a.k_epsilon, pairs, interleaved, lane);
    if (rotates) {
      turn(q[i], angles);
      turn(k[i], angles);
    }
    const int offset = head_offset + i * a.head_dim;
    store(q[i], static_cast<T*>(a.q) + row * a.q_stride + offset, pairs, interleaved, lane);
    store(k[i], static_cast<T*>(a.keys) + target * a.keys_stride + offset, pairs, interleaved, lane);
    store(v[i], static_cast<T*>(a.values) + target * a.values_stride + offset, pairs, interleaved, lane);
  }
}

template <typename T, int kHeads>
void launch(const SplitHeads& a, cudaStream_t stream) {
  const std::int64_t items = a.frames * a.tokens * (a.heads / kHeads);
  const auto blocks = static_cast<unsigned>((items + kWarps - 1) / kWarps);
  if (a.head_dim <= 64) {
    launch_early(split<T, 1, kHeads>, blocks, kThreads, stream, "split_heads", a);
  } else if (a.head_dim <= 128) {
    launch_early(split<T, 2, kHeads>, blocks, kThreads, stream, "split_heads", a);
  } else {
    launch_early(split<T, kMostPairs, kHeads>, blocks, kThreads, stream, "split_heads", a);
  }
}

}  // namespace

void split_heads(const SplitHeads& a, DType type, cudaStream_t stream) {
  if (a.frames * a.tokens * a.heads == 0) return;
  with_type(type, [&](auto element) {
    using T = decltype(element);
    if (a.heads % 4 == 0) {
      launch<T, 4>(a, stream);
    } else {
      launch<T, 1>(a, stream);
    }
  });
}

}  // namespace lingbot_map::cuda
