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
#include <utility>
#include <vector>

#include "attention/cuda/flashinfer_fa2.hpp"

namespace lingbot_map::cuda {
namespace {

/// The query tile of the only instantiation. Plans are made such that FlashInfer always chooses it, which it does above
/// 64 queries.
constexpr std::uint32_t kQueryTile = 128;
constexpr int kFewestPlannedQueries = 65;

/// Page size of attention within a frame: what the work can be split by.
constexpr int kFramePageSize = 128;

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

  Offsets(std::int64_t groups, std::int64_t pages) {
    const auto ints = [](std::int64_t count) { return align_up(static_cast<std::size_t>(count) * sizeof(int)); };
    qo_indptr = 0;
    kv_indptr = qo_indptr + ints(groups + 1);
    last_page_len = kv_indptr + ints(groups + 1);
    page_indices = last_page_len + ints(groups);
    scheduler = page_indices + ints(pages);
  }
};

/// FlashInfer plans for one chunk of keys a query tile, or for as many as this number of blocks a head allows.
std::int64_t most_blocks_when_split(int multiprocessors, int heads) { return 2 * multiprocessors / heads; }

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

void FlashInferFa2::reserve_pages(std::int64_t pages, cudaStream_t stream) {
  Problem problem;
  problem.groups = 1;
  problem.queries = 1;
  problem.pages_of_group = pages;
  problem.for_graphs = true;
  reserve(problem, stream);
}

void FlashInferFa2::plan_pages(std::span<const std::int32_t> page_table, std::int64_t last_page_len, int page_size,
                               int queries, cudaStream_t stream) {
  check(!page_table.empty() && page_size > 0 && queries > 0 && last_page_len > 0 && last_page_len <= page_size,
        "paged attention of ", queries, " queries over ", page_table.size(), " pages of ", page_size,
        " tokens, the last with ", last_page_len);
  const std::int32_t last_page = page_table.back();
  const std::int32_t highest_page = *std::max_element(page_table.begin(), page_table.end());
  check(*std::min_element(page_table.begin(), page_table.end()) >= 0, "paged attention: negative page");

  Problem problem;
  problem.groups = 1;
  problem.queries = queries;
  problem.pages_of_group = static_cast<std::int64_t>(page_table.size());
  problem.last_page_len = last_page_len;
  problem.page_size = page_size;
  problem.page_stride = page_size;
  problem.readable = highest_page == last_page ? std::int64_t{last_page} * page_size + last_page_len
                                               : (std::int64_t{highest_page} + 1) * page_size;
  problem.for_graphs = true;
  plan(problem, page_table, stream);
}

void FlashInferFa2::plan_frames(int frames, int tokens, cudaStream_t stream) {
  check(frames > 0 && tokens > 0, "attention within ", frames, " frames of ", tokens, " tokens");
  const std::int64_t rows = std::int64_t{frames} * tokens;
  check(rows <= std::numeric_limits<std::int32_t>::max(), "attention within frames: ", rows, " rows");

  Problem problem;
  problem.groups = frames;
  problem.queries = tokens;
  problem.page_size = kFramePageSize;
  problem.pages_of_group = divide_up(tokens, kFramePageSize);
  problem.last_page_len = tokens - (problem.pages_of_group - 1) * kFramePageSize;
  problem.page_stride = 1;
  problem.readable = rows;
  // The problem never changes, so a plan that fits it exactly, without padding, is safe in a graph too.
  problem.for_graphs = tokens < kFewestPlannedQueries;
  if (problem_ == problem) return;

  // Frames do not begin at multiples of the page size, so pages are named by their first token.
  std::vector<std::int32_t> first_tokens;
  first_tokens.reserve(static_cast<std::size_t>(frames * problem.pages_of_group));
  for (int frame = 0; frame < frames; ++frame) {
    for (std::int64_t page = 0; page < problem.pages_of_group; ++page) {
      first_tokens.push_back(static_cast<std::int32_t>(std::int64_t{frame} * tokens + page * kFramePageSize));
    }
  }
  plan(problem, first_tokens, stream);
}

void FlashInferFa2::reserve(const Problem& problem, cudaStream_t stream) {
  const std::int64_t groups = problem.groups;
  const std::int64_t rows = groups * std::max(problem.queries, kFewestPlannedQueries);
  const std::int64_t split_blocks = most_blocks_when_split(multiprocessors_, heads_);
  const std::int64_t blocks = std::max(split_blocks, divide_up<std::int64_t>(rows, kQueryTile) + groups);
  // Request, query tile and key tile of every block, its validity, a range of partial results for every row, and what
  // the allocator loses to alignment.
  const std::size_t scheduler_bytes =
      align_up(static_cast<std::size_t>(blocks * 13 + (groups + 1) * 4 + (rows + groups + 1) * 4 + 512));

  if (problem.pages_of_group * groups > page_capacity_ || groups > group_capacity_ ||
      scheduler_bytes > scheduler_bytes_) {
    const std::int64_t pages = problem.pages_of_group * groups;
    if (pages > page_capacity_) page_capacity_ = std::max<std::int64_t>(2 * pages, 1024);
    group_capacity_ = std::max(group_capacity_, groups);
    scheduler_bytes_ = std::max(scheduler_bytes_, scheduler_bytes);
    problem_ = Problem{};
    plan_memory_.reserve(Offsets(group_capacity_, page_capacity_).scheduler + scheduler_bytes_, stream);
  }

  const bool may_split = problem.for_graphs || blocks - groups <= split_blocks;
  const std::size_t partials_bytes =
      may_split ? static_cast<std::size_t>(heads_ * blocks * kQueryTile) * (kFlashInferHeadDim + 1) * sizeof(float) +
                      kAlignment
                : 0;
  if (partials_bytes > partials_bytes_) {
    check_cuda(cudaStreamSynchronize(stream), "waiting before the memory of partial attention grows");
    problem_ = Problem{};
    partials_bytes_ = 0;
    partials_.reset();
    partials_ = allocate_device(partials_bytes, "memory for partial attention");
    partials_bytes_ = partials_bytes;
  }
}

void FlashInferFa2::plan(const Problem& problem, std::span<const std::int32_t> page_indices, cudaStream_t stream) {
  reserve(problem, stream);
  problem_ = Problem{};  // stands for no plan, should this one fail

  const Offsets at(group_capacity_, page_capacity_);
  std::byte* host = plan_memory_.begin();
  auto* qo_indptr = reinterpret_cast<std::int32_t*>(host + at.qo_indptr);
  auto* kv_indptr = reinterpret_cast<std::int32_t*>(host + at.kv_indptr);
  auto* last_page_len = reinterpret_cast<std::int32_t*>(host + at.last_page_len);
  for (int group = 0; group <= problem.groups; ++group) {
    qo_indptr[group] = group * problem.queries;
    kv_indptr[group] = static_cast<std::int32_t>(group * problem.pages_of_group);
  }
  std::fill_n(last_page_len, problem.groups, static_cast<std::int32_t>(problem.last_page_len));
  std::copy(page_indices.begin(), page_indices.end(), reinterpret_cast<std::int32_t*>(host + at.page_indices));
  check_cuda(cudaMemcpyAsync(plan_memory_.device(), host, at.page_indices + page_indices.size_bytes(),
                             cudaMemcpyHostToDevice, stream),
             "copying the page table");

  // For graphs, FlashInfer takes the query tile from the greatest length that the rows allow.
  const int rows = problem.groups * problem.queries;
  const int planned_rows = problem.for_graphs ? std::max(rows, kFewestPlannedQueries + problem.groups - 1) : rows;
  flashinfer::PrefillPlanInfo info;
  call_flashinfer("planning FlashInfer attention", [&] {
    return flashinfer::PrefillPlan<std::int32_t>(
        partials_.get(), partials_bytes_, plan_memory_.device() + at.scheduler, host + at.scheduler, scheduler_bytes_,
        info, qo_indptr, kv_indptr, static_cast<std::uint32_t>(planned_rows),
        static_cast<std::uint32_t>(problem.groups), static_cast<std::uint32_t>(heads_),
        static_cast<std::uint32_t>(heads_), kFlashInferHeadDim, kFlashInferHeadDim,
        static_cast<std::uint32_t>(problem.page_size), problem.for_graphs, sizeof(std::uint16_t), stream);
  });
  plan_memory_.end(stream);
  check(info.cta_tile_q == kQueryTile, "FlashInfer planned query tiles of ", info.cta_tile_q, ", expected ",
        kQueryTile);

  layout_ = {.padded_batch_size = info.padded_batch_size,
             .total_num_rows = info.total_num_rows,
             .total_num_rows_offset = info.total_num_rows_offset,
             .request_indices_offset = info.request_indices_offset,
             .qo_tile_indices_offset = info.qo_tile_indices_offset,
             .kv_tile_indices_offset = info.kv_tile_indices_offset,
             .merge_indptr_offset = info.merge_indptr_offset,
             .o_indptr_offset = info.o_indptr_offset,
             .kv_chunk_size_offset = info.kv_chunk_size_ptr_offset,
             .partial_values_offset = info.v_offset,
             .partial_sums_offset = info.s_offset,
             .block_valid_offset = info.block_valid_mask_offset,
             .for_graphs = info.enable_cuda_graph,
             .split = info.split_kv};
  signature_ = {{info.padded_batch_size,
                 info.total_num_rows,
                 info.total_num_rows_offset,
                 info.request_indices_offset,
                 info.qo_tile_indices_offset,
                 info.kv_tile_indices_offset,
                 info.merge_indptr_offset,
                 info.o_indptr_offset,
                 info.kv_chunk_size_ptr_offset,
                 info.v_offset,
                 info.s_offset,
                 info.block_valid_mask_offset,
                 info.enable_cuda_graph,
                 info.split_kv,
                 problem.groups,
                 problem.page_size,
                 problem.page_stride,
                 page_capacity_,
                 group_capacity_,
                 reinterpret_cast<std::intptr_t>(plan_memory_.device()),
                 reinterpret_cast<std::intptr_t>(partials_.get())}};
  problem_ = problem;
}

template <typename Half>
void FlashInferFa2::launch(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                           cudaStream_t stream) const {
  const Offsets at(group_capacity_, page_capacity_);
  std::byte* const lists = plan_memory_.device();
  const auto list = [&](std::size_t offset) { return reinterpret_cast<std::int32_t*>(lists + offset); };
  const auto scheduled = [&](std::int64_t offset) { return list(at.scheduler + static_cast<std::size_t>(offset)); };
  const std::int64_t kv_strides[] = {problem_.page_stride * k.row_stride(), k.row_stride(), kFlashInferHeadDim};

  using Params = flashinfer::BatchPrefillPagedParams<Half, Half, Half, std::int32_t>;
  const flashinfer::paged_kv_t<Half, std::int32_t> pages(
      static_cast<std::uint32_t>(heads_), static_cast<std::uint32_t>(problem_.page_size), kFlashInferHeadDim,
      static_cast<std::uint32_t>(problem_.groups), flashinfer::QKVLayout::kNHD, static_cast<Half*>(k.raw()),
      static_cast<Half*>(v.raw()), kv_strides, list(at.page_indices), list(at.kv_indptr), list(at.last_page_len));
  Params params;
  params.q = static_cast<Half*>(q.raw());
  params.paged_kv = pages;
  params.q_indptr = list(at.qo_indptr);
  params.o = static_cast<Half*>(out.raw());
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
  params.padded_batch_size = static_cast<std::uint32_t>(layout_.padded_batch_size);
  params.max_total_num_rows = static_cast<std::uint32_t>(layout_.total_num_rows);

  Half* partial_values = nullptr;
  float* partial_sums = nullptr;
  if (layout_.split) {
    partial_values = reinterpret_cast<Half*>(partials_.get() + layout_.partial_values_offset);
    partial_sums = reinterpret_cast<float*>(partials_.get() + layout_.partial_sums_offset);
    params.merge_indptr = scheduled(layout_.merge_indptr_offset);
  }
  if (layout_.for_graphs) {
    params.block_valid_mask = reinterpret_cast<bool*>(scheduled(layout_.block_valid_offset));
    params.total_num_rows = reinterpret_cast<std::uint32_t*>(scheduled(layout_.total_num_rows_offset));
  }
  call_flashinfer("FlashInfer attention", [&] {
    return flashinfer::BatchPrefillWithPagedKVCacheDispatched<
        kQueryTile, kFlashInferHeadDim, kFlashInferHeadDim, flashinfer::PosEncodingMode::kNone,
        /*USE_FP16_QK_REDUCTION=*/false, flashinfer::MaskMode::kNone, FullAttention, Params>(
        params, partial_values, partial_sums, /*enable_pdl=*/false, stream);
  });
}

void FlashInferFa2::run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        cudaStream_t stream) const {
  check(problem_.groups > 0, "FlashInfer attention runs before it is planned");
  const std::int64_t queries = std::int64_t{problem_.groups} * problem_.queries;
  check_attention_rows(q, "queries", dtype_, heads_, queries);
  check_attention_rows(k, "keys", dtype_, heads_, problem_.readable);
  check_attention_rows(v, "values", dtype_, heads_, problem_.readable);
  check_attention_rows(out, "output", dtype_, heads_, queries);
  check(out.contiguous(), "attention output: FlashInfer needs rows without gaps");
  check(k.row_stride() == v.row_stride() &&
            problem_.page_stride * k.row_stride() <= std::numeric_limits<std::uint32_t>::max(),
        "attention keys and values: found row strides ", k.row_stride(), " and ", v.row_stride());
  if (dtype_ == DType::bf16) {
    launch<__nv_bfloat16>(q, k, v, out, stream);
  } else {
    launch<__half>(q, k, v, out, stream);
  }
}

}  // namespace lingbot_map::cuda
