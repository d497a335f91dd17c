#include <algorithm>
#include <limits>

#include "attention/cuda/hopper_attention.hpp"
#include "attention/cuda/hopper_attention_kernel.cuh"
#include "backend/cuda/check.hpp"
#include "backend/cuda/tensor_map.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {

namespace hopper {

/// The keys are split into at most so many blocks in all: what an H100 or H200 holds at once. A constant, so that
/// results do not depend on the device.
inline constexpr std::int64_t kBlocksAtOnce = 132;
/// Queries that occupy so many blocks by themselves are not split: the second kernel would cost more.
inline constexpr std::int64_t kEnoughBlocks = 88;
inline constexpr std::int64_t kFewestTiles = 4;  ///< of keys for a block, when they are split
/// What a block takes besides its tiles, and what combining takes, both in the time of a tile.
inline constexpr std::int64_t kBlockTiles = 4;
inline constexpr std::int64_t kCombineTiles = 16;

struct Grid {
  std::int64_t query_tiles;  ///< whole clusters
  std::int64_t heads;
  std::int64_t groups;
  std::int64_t splits;
  std::int64_t first_share;  ///< see Work

  [[nodiscard]] std::int64_t blocks() const { return query_tiles * heads * groups * splits; }
  [[nodiscard]] std::size_t workspace() const {
    constexpr std::size_t kRow = kHeadDim * sizeof(float) + sizeof(float2);
    return splits == 1 ? 0 : static_cast<std::size_t>(blocks()) * kQueryTile * kRow;
  }
};

Grid make_grid(std::int64_t queries, std::int64_t heads, std::int64_t groups, std::int64_t keys, int cluster) {
  const std::int64_t tiles = (queries + kQueryTile - 1) / kQueryTile;
  Grid grid{(tiles + cluster - 1) / cluster * cluster, heads, groups, 1, 0};
  const std::int64_t blocks = grid.blocks();
  const std::int64_t key_tiles = keys / kKeyTile;
  if (blocks > 0 && blocks < kEnoughBlocks) {
    const std::int64_t most = std::max<std::int64_t>(key_tiles / kFewestTiles, 1);
    grid.splits = std::clamp<std::int64_t>(kBlocksAtOnce / blocks, 1, most);
  } else if (blocks > 0 && blocks < kBlocksAtOnce && groups == 1 && cluster == 1) {
    // A block an item leaves some multiprocessors idle: they take a small part of every item, several in turn. Blocks
    // start in order, the long first parts before the short ones.
    const std::int64_t idle = kBlocksAtOnce - blocks;
    const std::int64_t turns = (blocks + idle - 1) / idle;
    const std::int64_t small = (key_tiles - turns * kBlockTiles) / (turns + 1);
    if (small >= kFewestTiles && (key_tiles - small + kCombineTiles) * 20 < key_tiles * 19) {
      grid.splits = 2;
      grid.first_share = (key_tiles - small) * 1024 / key_tiles;
    }
  }
  return grid;
}

/// out = sum over splits of 2^(maximum - largest maximum) sums, divided; a warp a row, two columns a lane.
template <typename Element>
__global__ __launch_bounds__(128) void combine_kernel(const float* partial_out, const float2* partial_sum, int splits,
                                                      int query_tiles, int queries, Element* out,
                                                      std::int64_t out_stride) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  if (row >= queries) {
    return;
  }
  const int lane = threadIdx.x % 32;
  const int head = blockIdx.y;
  const int group = blockIdx.z;
  const auto partial_row = [&](int split) {
    const std::int64_t plane = static_cast<std::int64_t>(group) * splits + split;
    return (plane * gridDim.y + head) * query_tiles * kQueryTile + row;
  };
  float largest = -INFINITY;
  for (int split = 0; split < splits; ++split) {
    largest = fmaxf(largest, partial_sum[partial_row(split)].x);
  }
  float sum = 0;
  float2 value = make_float2(0, 0);
  for (int split = 0; split < splits; ++split) {
    const std::int64_t at = partial_row(split);
    const float2 part = partial_sum[at];
    if (part.y == 0) {
      continue;
    }
    const float weight = exp2f(part.x - largest);
    const float2 add = reinterpret_cast<const float2*>(partial_out + at * kHeadDim)[lane];
    sum += weight * part.y;
    value.x += weight * add.x;
    value.y += weight * add.y;
  }
  const float inverse = sum == 0 ? 0.0F : 1.0F / sum;
  const std::int64_t target = (static_cast<std::int64_t>(group) * queries + row) * out_stride + head * kHeadDim;
  *reinterpret_cast<std::uint32_t*>(out + target + lane * 2) = pack<Element>(value.x * inverse, value.y * inverse);
#else
  __trap();
#endif
}

/// Rows [groups][rows][heads * 64], copied in boxes of `box_rows` rows of one head.
CUtensorMap make_map(const void* base, bool is_bf16, std::int64_t heads, std::int64_t rows, std::int64_t groups,
                     std::int64_t stride, int box_rows) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(heads) * kHeadDim, static_cast<cuuint64_t>(rows),
                              static_cast<cuuint64_t>(groups)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride) * 2, static_cast<cuuint64_t>(rows * stride) * 2};
  const cuuint32_t box[] = {kHeadDim, static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = encode_tensor_map()(
      &map, is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, const_cast<void*>(base),
      sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled: error ", static_cast<int>(result), " for ", rows, " rows of ",
        heads, " heads with stride ", stride);
  return map;
}

void check_call(const HopperAttention& call) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  const auto aligned = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; };
  const std::int64_t width = call.heads * kHeadDim;
  check(call.queries <= kMost && call.keys >= 0 && call.keys <= kMost && call.heads <= 65535,
        "attention: ", call.queries, " queries, ", call.keys, " keys, ", call.heads, " heads");
  check(aligned(call.q) && aligned(call.k) && aligned(call.v) && aligned(call.out), "attention: unaligned rows");
  for (const std::int64_t stride : {call.q_stride, call.kv_stride, call.out_stride}) {
    check(stride % 8 == 0 && stride >= width, "attention: stride ", stride, " of rows of ", width);
  }
  check(call.range == nullptr || call.groups == 1, "attention: a range of keys for ", call.groups, " groups");
}

template <typename Element, typename Tuned>
void launch(const HopperAttention& call, cudaStream_t stream) {
  const Grid grid = make_grid(call.queries, call.heads, call.groups, call.keys, Tuned::cluster);
  check(grid.groups * grid.splits <= 65535, "attention: ", call.groups, " groups");
  check(grid.workspace() <= call.workspace_bytes && (grid.splits == 1 || call.workspace != nullptr),
        "attention: workspace of ", call.workspace_bytes, " bytes, needed ", grid.workspace());
  const CUtensorMap q =
      make_map(call.q, call.is_bf16, call.heads, call.queries, call.groups, call.q_stride, kQueryTile);
  const CUtensorMap out =
      make_map(call.out, call.is_bf16, call.heads, call.queries, call.groups, call.out_stride, kQueryTile / 2);
  CUtensorMap k = q;  // unused when there are no keys
  CUtensorMap v = q;
  if (call.keys > 0) {
    constexpr int kBox = kKeyTile / Tuned::cluster;
    k = make_map(call.k, call.is_bf16, call.heads, call.keys, call.groups, call.kv_stride, kBox);
    v = make_map(call.v, call.is_bf16, call.heads, call.keys, call.groups, call.kv_stride, kBox);
  }
  const std::int64_t rows = grid.splits > 1 ? grid.blocks() * kQueryTile : 0;
  Work work{};
  work.range = call.range;
  work.queries = static_cast<int>(call.queries);
  work.keys = static_cast<int>(call.keys);
  work.splits = static_cast<int>(grid.splits);
  work.first_share = static_cast<int>(grid.first_share);
  work.partial_out = static_cast<float*>(call.workspace);
  work.partial_sum = reinterpret_cast<float2*>(work.partial_out + rows * kHeadDim);

  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(Tuned::cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid.query_tiles), static_cast<unsigned>(grid.heads),
                        static_cast<unsigned>(grid.groups * grid.splits));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = Layout<Tuned::stages>::kBytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  const auto kernel = attention_kernel<Element, Tuned>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(config.dynamicSmemBytes)),
             "shared memory of attention");
  check_cuda(cudaLaunchKernelEx(&config, kernel, q, k, v, out, work), "attention");

  if (grid.splits > 1) {
    const dim3 blocks(static_cast<unsigned>((call.queries + 3) / 4), static_cast<unsigned>(grid.heads),
                      static_cast<unsigned>(grid.groups));
    combine_kernel<Element><<<blocks, 128, 0, stream>>>(work.partial_out, work.partial_sum, work.splits,
                                                        static_cast<int>(grid.query_tiles), work.queries,
                                                        static_cast<Element*>(call.out), call.out_stride);
    check_launch("attention, combining");
  }
}

using ForManyKeys = Tuning<2, 6, 16, false>;  ///< pairs of blocks share what they copy
using ForFewKeys = Tuning<1, 6, 16, true>;    ///< blocks alone start sooner and pad less
/// Below this, starting a pair together costs more than sharing gains.
inline constexpr std::int64_t kManyKeys = 4096;

template <typename Element>
void launch_chosen(const HopperAttention& call, cudaStream_t stream) {
  const Grid alone = make_grid(call.queries, call.heads, call.groups, call.keys, ForFewKeys::cluster);
  if (call.keys < kManyKeys || alone.first_share > 0) {
    launch<Element, ForFewKeys>(call, stream);
  } else {
    launch<Element, ForManyKeys>(call, stream);
  }
}

}  // namespace hopper

bool hopper_attention_available(int compute_capability_major, int compute_capability_minor) {
#ifdef LINGBOT_MAP_HAS_SM90A
  return compute_capability_major == 9 && compute_capability_minor == 0;
#else
  static_cast<void>(compute_capability_major);
  static_cast<void>(compute_capability_minor);
  return false;
#endif
}

std::size_t hopper_attention_workspace(std::int64_t queries, std::int64_t heads, int groups) {
  constexpr std::int64_t kEndless = std::numeric_limits<int>::max();
  const auto bytes = [&](int cluster) {
    return hopper::make_grid(queries, heads, groups, kEndless, cluster).workspace();
  };
  return std::max(bytes(hopper::ForManyKeys::cluster), bytes(hopper::ForFewKeys::cluster));
}

void hopper_attention(const HopperAttention& call, cudaStream_t stream) {
  if (call.queries <= 0 || call.heads <= 0 || call.groups <= 0) {
    return;
  }
  hopper::check_call(call);
  if (call.is_bf16) {
    hopper::launch_chosen<__nv_bfloat16>(call, stream);
  } else {
    hopper::launch_chosen<__half>(call, stream);
  }
}

}  // namespace lingbot_map::cuda
