#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/mask.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>
#include <iostream>
#include <limits>

#include "attention/cuda/flashinfer_fa2.hpp"

namespace lingbot_map::cuda {
namespace {

/// The query tile of the only instantiation. Plans are made such that FlashInfer always chooses it, which it does above
/// 64 queries.
constexpr std::uint32_t kQueryTile = 128;
constexpr int kFewestPlannedQueries = 65;

/// Keys that a block takes at a time, in rows of 16: what FlashInfer chooses for this head size and query tile on every
/// GPU.
constexpr std::uint32_t kKeyRows16 = 4;

/// Threads of a block that merges parts: for the elements of a head in fours, and for row heads.
constexpr int kQuads = kFlashInferHeadDim / 4;
constexpr int kMergedRowHeads = 8;

constexpr std::size_t kAlignment = 256;

constexpr std::size_t align_up(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

template <typename Integer>
constexpr Integer divide_up(Integer a, Integer b) {
  return (a + b - 1) / b;
}

/// FlashInfer's plain softmax attention. Without a sliding window it leaves `window_left` unset, though the kernel
/// derives from it which tiles take the slower masked path; this is beyond all keys, so none does.
struct FullAttention : flashinfer::DefaultAttention<false, false, false, false> {
  template <typename Params>
  __device__ __host__ FullAttention(const Params& params, uint32_t batch_idx, uint8_t* smem)
      : flashinfer::DefaultAttention<false, false, false, false>(params, batch_idx, smem) {
    window_left = 1u << 30;
  }
};

/// Where the arrays of a plan lie in its memory.
struct Offsets {
  std::size_t qo_indptr;
  std::size_t kv_indptr;
  std::size_t last_page_len;
  std::size_t page_indices;
  std::size_t scheduler;

  explicit Offsets(std::int64_t pages) {
    const auto ints = [](std::int64_t count) { return align_up(static_cast<std::size_t>(count) * sizeof(int)); };
    qo_indptr = 0;
    kv_indptr = qo_indptr + ints(2);
    last_page_len = kv_indptr + ints(2);
    page_indices = last_page_len + ints(1);
    scheduler = page_indices + ints(pages);
  }
};

/// FlashInfer plans for one chunk of keys a query tile, or for as many as this number of blocks a head allows.
std::int64_t most_blocks_when_split(int multiprocessors, int heads) { return 2 * multiprocessors / heads; }

/// What attention to parts of the keys came to. Query row r has parts first_part[r] to first_part[r + 1] - 1.
struct Parts {
  const float* values;             ///< [parts, heads, 64], normalised
  const float* log_sums;           ///< [parts, heads], base-2 logarithms of the sums of the keys' weights
  const std::int32_t* first_part;  ///< [rows + 1]
};

/// out = the parts' results put together, always in the same order; one thread for four elements of a row's head.
///
/// FlashInfer has a kernel for this too, but results of 0.3.1's do not repeat: nothing keeps the first warp of a block
/// from writing the sums of the block's next row to shared memory while other warps still read those of this row.
template <typename Half>
__global__ void __launch_bounds__(kQuads* kMergedRowHeads)
    merge_parts(Parts parts, int rows, int heads, Half* out, std::int64_t out_stride) {
  const int row_head = static_cast<int>(blockIdx.x * kMergedRowHeads + threadIdx.y);
  const int row = row_head / heads;
  if (row >= rows) return;
  const int head = row_head % heads;
  const int column = static_cast<int>(threadIdx.x) * 4;
  const std::int64_t first = parts.first_part[row];
  const std::int64_t end = parts.first_part[row + 1];

  float top = parts.log_sums[first * heads + head];
  for (std::int64_t part = first + 1; part < end; ++part) top = fmaxf(top, parts.log_sums[part * heads + head]);
  float total = 0;
  float4 sum = make_float4(0, 0, 0, 0);
  for (std::int64_t part = first; part < end; ++part) {
    const std::int64_t place = part * heads + head;
    const float weight = exp2f(parts.log_sums[place] - top);
    const float4 value = *reinterpret_cast<const float4*>(parts.values + place * kFlashInferHeadDim + column);
    total += weight;
    sum.x += weight * value.x;
    sum.y += weight * value.y;
    sum.z += weight * value.z;
    sum.w += weight * value.w;
  }
  const float inverse = 1.0f / total;
  struct alignas(8) Quad {
    Half elements[4];
  };
  const Quad merged{{Half(sum.x * inverse), Half(sum.y * inverse), Half(sum.z * inverse), Half(sum.w * inverse)}};
  *reinterpret_cast<Quad*>(out + row * out_stride + head * kFlashInferHeadDim + column) = merged;
}

}  // namespace

FlashInferFa2::FlashInferFa2(int heads, DType dtype) : heads_(heads), dtype_(dtype) {
  check(heads > 0, "attention: found ", heads, " heads");
  check(dtype == DType::bf16 || dtype == DType::f16, "FlashInfer attention: found ", name_of(dtype),
        ", expected bf16 or fp16");
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current GPU");
  check_cuda(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
             "asking for the GPU's multiprocessors");
  if (!available(dtype)) {
    fail(ErrorCode::unsupported, "attention back end 'flashinfer' has no ", name_of(dtype),
         " kernel for this GPU in this build; take --dtype fp16 or --use_sdpa");
  }
}

bool FlashInferFa2::available(DType dtype) {
  int device = 0;
  int major = 0;
  int minor = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current GPU");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the GPU's kind");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "asking for the GPU's kind");
  const int capability = 10 * major + minor;
  return (dtype == DType::f16 && capability >= 75) || (dtype == DType::bf16 && capability >= 80);
}

void FlashInferFa2::reserve_pages(std::int64_t pages, cudaStream_t stream) { reserve(pages, 1, stream); }

void FlashInferFa2::reserve(std::int64_t pages, int queries, cudaStream_t stream) {
  const std::int64_t rows = std::max(queries, kFewestPlannedQueries);
  const std::int64_t blocks =
      std::max(most_blocks_when_split(multiprocessors_, heads_), divide_up<std::int64_t>(rows, kQueryTile));
  // Request, query tile and key tile of every block, its validity, a range of parts for every row, and what the
  // allocator loses to alignment.
  const std::size_t scheduler_bytes = align_up(static_cast<std::size_t>(blocks * 13 + rows * 4 + 512));
  if (pages > page_capacity_ || scheduler_bytes > scheduler_bytes_) {
    queries_ = 0;
    if (pages > page_capacity_) page_capacity_ = std::max<std::int64_t>(2 * pages, 1024);
    scheduler_bytes_ = std::max(scheduler_bytes_, scheduler_bytes);
    plan_memory_.reserve(Offsets(page_capacity_).scheduler + scheduler_bytes_, stream);
  }

  const std::size_t parts_bytes =
      static_cast<std::size_t>(heads_ * blocks * kQueryTile) * (kFlashInferHeadDim + 1) * sizeof(float) + kAlignment;
  if (parts_bytes > parts_bytes_) {
    check_cuda(cudaStreamSynchronize(stream), "waiting before the memory of partial attention grows");
    queries_ = 0;
    parts_bytes_ = 0;
    parts_.reset();
    parts_ = allocate_device(parts_bytes, "memory for partial attention");
    parts_bytes_ = parts_bytes;
  }
}

void FlashInferFa2::plan_pages(std::span<const std::int32_t> page_table, std::int64_t last_page_len, int page_size,
                               int queries, cudaStream_t stream) {
  check(!page_table.empty() && page_size > 0 && queries > 0 && last_page_len > 0 && last_page_len <= page_size,
        "paged attention of ", queries, " queries over ", page_table.size(), " pages of ", page_size,
        " tokens, the last with ", last_page_len);
  const std::int32_t last_page = page_table.back();
  const std::int32_t highest_page = *std::max_element(page_table.begin(), page_table.end());
  check(*std::min_element(page_table.begin(), page_table.end()) >= 0, "paged attention: negative page");

  reserve(static_cast<std::int64_t>(page_table.size()), queries, stream);
  queries_ = 0;  // stands for no plan, should this one fail

  const Offsets at(page_capacity_);
  std::byte* host = plan_memory_.begin();
  const auto list = [host](std::size_t offset) { return reinterpret_cast<std::int32_t*>(host + offset); };
  std::int32_t* const qo_indptr = list(at.qo_indptr);
  std::int32_t* const kv_indptr = list(at.kv_indptr);
  qo_indptr[0] = 0;
  qo_indptr[1] = queries;
  kv_indptr[0] = 0;
  kv_indptr[1] = static_cast<std::int32_t>(page_table.size());
  *list(at.last_page_len) = static_cast<std::int32_t>(last_page_len);
  std::copy(page_table.begin(), page_table.end(), list(at.page_indices));
  check_cuda(cudaMemcpyAsync(plan_memory_.device(), host, at.page_indices + page_table.size_bytes(),
                             cudaMemcpyHostToDevice, stream),
             "copying the page table");

  // Planned as for graphs always: one grid for every number of pages, keys split the same way with and without. Such
  // plans take the query tile from the number of rows.
  flashinfer::PrefillPlanInfo info;
  call_flashinfer("planning FlashInfer attention", [&] {
    return flashinfer::PrefillPlan<std::int32_t>(
        parts_.get(), parts_bytes_, plan_memory_.device() + at.scheduler, host + at.scheduler, scheduler_bytes_, info,
        qo_indptr, kv_indptr, static_cast<std::uint32_t>(std::max(queries, kFewestPlannedQueries)), /*batch_size=*/1,
        static_cast<std::uint32_t>(heads_), static_cast<std::uint32_t>(heads_), kFlashInferHeadDim, kFlashInferHeadDim,
        static_cast<std::uint32_t>(page_size), /*enable_cuda_graph=*/true, sizeof(float), stream);
  });
  plan_memory_.end(stream);
  check(info.cta_tile_q == kQueryTile && info.split_kv, "FlashInfer planned query tiles of ", info.cta_tile_q,
        ", expected ", kQueryTile, ", and keys ", info.split_kv ? "split" : "not split");

  layout_ = {.padded_batch_size = info.padded_batch_size,
             .request_indices_offset = info.request_indices_offset,
             .qo_tile_indices_offset = info.qo_tile_indices_offset,
             .kv_tile_indices_offset = info.kv_tile_indices_offset,
             .merge_indptr_offset = info.merge_indptr_offset,
             .o_indptr_offset = info.o_indptr_offset,
             .kv_chunk_size_offset = info.kv_chunk_size_ptr_offset,
             .block_valid_offset = info.block_valid_mask_offset,
             .part_values_offset = info.v_offset,
             .part_sums_offset = info.s_offset};
  signature_ = {{info.padded_batch_size, info.request_indices_offset, info.qo_tile_indices_offset,
                 info.kv_tile_indices_offset, info.merge_indptr_offset, info.o_indptr_offset,
                 info.kv_chunk_size_ptr_offset, info.block_valid_mask_offset, info.v_offset, info.s_offset, queries,
                 page_size, page_capacity_, reinterpret_cast<std::intptr_t>(plan_memory_.device()),
                 reinterpret_cast<std::intptr_t>(parts_.get())}};
  page_size_ = page_size;
  readable_ = highest_page == last_page ? std::int64_t{last_page} * page_size + last_page_len
                                        : (std::int64_t{highest_page} + 1) * page_size;
  queries_ = queries;
}

template <typename Half>
void FlashInferFa2::launch(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                           cudaStream_t stream) const {
  const Offsets at(page_capacity_);
  std::byte* const lists = plan_memory_.device();
  const auto list = [&](std::size_t offset) { return reinterpret_cast<std::int32_t*>(lists + offset); };
  const auto scheduled = [&](std::int64_t offset) { return list(at.scheduler + static_cast<std::size_t>(offset)); };
  const std::int64_t kv_strides[] = {page_size_ * k.row_stride(), k.row_stride(), kFlashInferHeadDim};

  using Params = flashinfer::BatchPrefillPagedParams<Half, Half, /*DTypeO=*/float, std::int32_t>;
  const flashinfer::paged_kv_t<Half, std::int32_t> pages(
      static_cast<std::uint32_t>(heads_), static_cast<std::uint32_t>(page_size_), kFlashInferHeadDim, /*batch_size=*/1,
      flashinfer::QKVLayout::kNHD, static_cast<Half*>(k.raw()), static_cast<Half*>(v.raw()), kv_strides,
      list(at.page_indices), list(at.kv_indptr), list(at.last_page_len));
  auto* const values = reinterpret_cast<float*>(parts_.get() + layout_.part_values_offset);
  auto* const log_sums = reinterpret_cast<float*>(parts_.get() + layout_.part_sums_offset);
  Params params;
  params.q = static_cast<Half*>(q.raw());
  params.paged_kv = pages;
  params.q_indptr = list(at.qo_indptr);
  params.o = values;
  params.lse = log_sums;
  params.partition_kv = true;
  params.group_size = flashinfer::uint_fastdiv(1);
  params.num_qo_heads = static_cast<std::uint32_t>(heads_);
  params.q_stride_n = static_cast<std::int32_t>(q.row_stride());
  params.q_stride_h = kFlashInferHeadDim;
  params.window_left = -1;
  params.sm_scale = 0.125f;
  params.request_indices = scheduled(layout_.request_indices_offset);
  params.qo_tile_indices = scheduled(layout_.qo_tile_indices_offset);
  params.kv_tile_indices = scheduled(layout_.kv_tile_indices_offset);
  params.o_indptr = scheduled(layout_.o_indptr_offset);
  params.kv_chunk_size_ptr = scheduled(layout_.kv_chunk_size_offset);
  params.block_valid_mask = reinterpret_cast<bool*>(scheduled(layout_.block_valid_offset));
  params.padded_batch_size = static_cast<std::uint32_t>(layout_.padded_batch_size);

  constexpr std::uint32_t kWarpsQ = flashinfer::get_num_warps_q(kQueryTile);
  constexpr std::uint32_t kWarpsKv = flashinfer::get_num_warps_kv(kQueryTile);
  constexpr std::uint32_t kHeadDim16 = kFlashInferHeadDim / 16;
  using Traits =
      flashinfer::KernelTraits<flashinfer::MaskMode::kNone, kQueryTile, flashinfer::get_num_mma_q(kQueryTile),
                               kKeyRows16, kHeadDim16, kHeadDim16, kWarpsQ, kWarpsKv,
                               flashinfer::PosEncodingMode::kNone, Half, Half, /*DTypeO=*/float,
                               /*DTypeQKAccum=*/float, std::int32_t, FullAttention>;
  constexpr std::size_t kShared = sizeof(typename Traits::SharedStorage);
  static_assert(!Traits::IsInvalid() && kShared <= 48 * 1024, "no kernel that every GPU can launch");
  // FlashInfer's launchers would merge the parts by its own kernel.
  const dim3 grid(params.padded_batch_size, 1, params.num_qo_heads);
  flashinfer::BatchPrefillWithPagedKVCacheKernel<Traits, Params>
      <<<grid, dim3(32, kWarpsQ, kWarpsKv), kShared, stream>>>(params);
  check_launch("FlashInfer attention");

  const Parts parts{values, log_sums, scheduled(layout_.merge_indptr_offset)};
  const int merge_blocks = divide_up(queries_ * heads_, kMergedRowHeads);
  merge_parts<<<static_cast<unsigned>(merge_blocks), dim3(kQuads, kMergedRowHeads), 0, stream>>>(
      parts, queries_, heads_, static_cast<Half*>(out.raw()), out.row_stride());
  check_launch("merging parts of an attention");
}

void FlashInferFa2::run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        cudaStream_t stream) const {
  check(queries_ > 0, "FlashInfer attention runs before it is planned");
  check_attention_rows(q, "queries", dtype_, heads_, queries_);
  check_attention_rows(k, "keys", dtype_, heads_, readable_);
  check_attention_rows(v, "values", dtype_, heads_, readable_);
  check_attention_rows(out, "output", dtype_, heads_, queries_);
  check(k.row_stride() == v.row_stride() && page_size_ * k.row_stride() <= std::numeric_limits<std::uint32_t>::max(),
        "attention keys and values: found row strides ", k.row_stride(), " and ", v.row_stride());
  if (dtype_ == DType::bf16) {
    launch<__nv_bfloat16>(q, k, v, out, stream);
  } else {
    launch<__half>(q, k, v, out, stream);
  }
}

}  // namespace lingbot_map::cuda
