#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
#include <flashinfer/attention/mask.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <iostream>
#include <limits>

#include "attention/cuda/flashinfer_fa3.hpp"

namespace lingbot_map::cuda {
namespace {

/// Rows of queries that one block takes at a time, as FlashInfer's scheduler has it for head size 64.
constexpr std::int64_t kQueryTile = 192;

/// The paged kernel looks up the rows of whole tiles of keys, also of those past the end that it then does not read.
constexpr std::int64_t kRowsPastEnd = 192;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

__global__ void fill_row_indices(std::int32_t* indices, std::int32_t first, std::int32_t count, std::int32_t total) {
  const std::int32_t i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < total) indices[i] = first + min(i, count - 1);
}

}  // namespace

FlashInferFa3::FlashInferFa3(int heads, DType dtype, Reading reading)
    : heads_(heads), dtype_(dtype), reading_(reading) {
  check(heads > 0, "attention: found ", heads, " heads");
  check(dtype == DType::bf16 || dtype == DType::f16, "FlashInfer attention: found ", name_of(dtype),
        ", expected bf16 or fp16");
  if (!available()) {
    fail(ErrorCode::unsupported, "FlashInfer's FlashAttention-3 kernels need a GPU of compute capability 9.0");
  }
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current GPU");
  check_cuda(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
             "asking for the GPU's multiprocessors");
}

bool FlashInferFa3::available() {
  int device = 0;
  int major = 0;
  int minor = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current GPU");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the GPU's kind");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "asking for the GPU's kind");
  return major == 9 && minor == 0;
}

void FlashInferFa3::reserve_tokens(std::int64_t tokens, cudaStream_t stream) {
  if (reading_ == Reading::dense) return;
  const std::int64_t rows = tokens + kRowsPastEnd;
  if (rows <= row_capacity_) return;
  check_cuda(cudaStreamSynchronize(stream), "waiting before the attention's row indices grow");
  queries_ = 0;
  row_capacity_ = 0;
  row_indices_.reset();
  const std::int64_t capacity = std::max<std::int64_t>(rows + rows / 2, 1 << 17);
  row_indices_ = allocate_device(static_cast<std::size_t>(capacity) * sizeof(std::int32_t),
                                 "memory for the attention's row indices");
  row_capacity_ = capacity;
}

void FlashInferFa3::plan_range(std::int64_t first_token, std::int64_t tokens, std::int64_t readable_tokens, int queries,
                               cudaStream_t stream) {
  check(first_token >= 0 && tokens > 0 && queries > 0 && first_token + tokens <= readable_tokens &&
            readable_tokens <= std::numeric_limits<std::int32_t>::max(),
        "attention of ", queries, " queries over tokens ", first_token, " to ", first_token + tokens, " of ",
        readable_tokens);
  const std::int64_t most_works = divide_up(queries, kQueryTile) * heads_;
  // Seven numbers for each piece of work, one for each multiprocessor, and what alignment loses.
  const std::int64_t plan_bytes = most_works * 7 * 4 + (multiprocessors_ + 1) * 4 + 512;
  queries_ = 0;  // stands for no plan, should this one fail
  reserve_tokens(tokens, stream);
  plan_memory_.reserve(static_cast<std::size_t>(plan_bytes), stream);

  // Paged, keys are found through indices that begin at 0; dense, they are rows themselves.
  const std::int64_t first = reading_ == Reading::paged ? 0 : first_token;
  std::array<std::int32_t, 2> qo_indptr{0, queries};
  std::array<std::int32_t, 2> kv_indptr{static_cast<std::int32_t>(first), static_cast<std::int32_t>(first + tokens)};
  auto kv_length = static_cast<std::int32_t>(tokens);

  if (reading_ == Reading::paged) {
    constexpr int kThreads = 256;
    const auto total = static_cast<std::int32_t>(tokens + kRowsPastEnd);
    fill_row_indices<<<static_cast<unsigned>(divide_up(total, kThreads)), kThreads, 0, stream>>>(
        reinterpret_cast<std::int32_t*>(row_indices_.get()), static_cast<std::int32_t>(first_token),
        static_cast<std::int32_t>(tokens), total);
    check_launch("filling the attention's row indices");
  }

  std::byte* host = plan_memory_.begin();
  flashinfer::PrefillPlanSM90Info info;
  call_flashinfer("planning FlashInfer attention", [&] {
    return flashinfer::PrefillSM90Plan<std::int32_t>(
        /*float_buffer=*/nullptr, 0, plan_memory_.device(), host, plan_memory_.bytes(), info, qo_indptr.data(),
        kv_indptr.data(), &kv_length, static_cast<std::uint32_t>(queries), /*batch_size=*/1,
        static_cast<std::uint32_t>(heads_), static_cast<std::uint32_t>(heads_), kFlashInferHeadDim, kFlashInferHeadDim,
        /*page_size=*/1, /*causal=*/false, /*enable_cuda_graph=*/true, sizeof(std::uint16_t), stream);
  });
  plan_memory_.end(stream);
  check(!info.same_schedule_for_all_heads, "attention of ", queries, " queries: more than FlashInfer schedules a head");

  layout_ = {.qo_tile_indices_offset = info.qo_tile_indices_offset,
             .qo_indptr_offset = info.qo_indptr_offset,
             .kv_indptr_offset = info.kv_indptr_offset,
             .qo_lengths_offset = info.qo_len_offset,
             .kv_lengths_offset = info.kv_len_offset,
             .head_indices_offset = info.head_indices_offset,
             .work_indptr_offset = info.work_indptr_offset,
             .batch_indices_offset = info.batch_indices_offset};
  signature_ = {{info.qo_tile_indices_offset, info.qo_indptr_offset, info.kv_indptr_offset, info.qo_len_offset,
                 info.kv_len_offset, info.head_indices_offset, info.work_indptr_offset, info.batch_indices_offset,
                 queries, reading_ == Reading::dense ? readable_tokens : 0,
                 reinterpret_cast<std::intptr_t>(plan_memory_.device()),
                 reinterpret_cast<std::intptr_t>(row_indices_.get())}};
  readable_ = readable_tokens;
  queries_ = queries;
}

template <typename Half>
void FlashInferFa3::launch(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                           cudaStream_t stream) const {
  const auto list = [&](std::int64_t offset) {
    return reinterpret_cast<std::int32_t*>(plan_memory_.device() + offset);
  };
  const auto fill = [&](auto& params) {
    params.q_ptr = static_cast<Half*>(q.raw());
    params.k_ptr = static_cast<Half*>(k.raw());
    params.v_ptr = static_cast<Half*>(v.raw());
    params.o_ptr = static_cast<Half*>(out.raw());
    params.lse_ptr = nullptr;
    params.qo_tile_indices = list(layout_.qo_tile_indices_offset);
    params.qo_indptr = list(layout_.qo_indptr_offset);
    params.kv_indptr = list(layout_.kv_indptr_offset);
    params.qo_lens = list(layout_.qo_lengths_offset);
    params.kv_lens = list(layout_.kv_lengths_offset);
    params.head_indices = list(layout_.head_indices_offset);
    params.work_indptr = list(layout_.work_indptr_offset);
    params.batch_indices = list(layout_.batch_indices_offset);
    params.additional_params = {};
    params.additional_params.sm_scale = 0.125f;
    params.q_stride_n = q.row_stride();
    params.k_stride_n = k.row_stride();
    params.v_stride_n = v.row_stride();
    params.o_stride_n = out.row_stride();
    params.q_stride_h = params.k_stride_h = params.v_stride_h = params.o_stride_h = kFlashInferHeadDim;
    params.nnz_qo = queries_;
    params.num_qo_heads = params.num_kv_heads = heads_;
    params.group_size = 1;
    params.window_left = -1;
    params.causal = false;
  };

  using flashinfer::MaskMode;
  using Variant = flashinfer::DefaultAttention</*use_logits_soft_cap=*/false>;
  if (reading_ == Reading::dense) {
    using Params = flashinfer::BatchPrefillRaggedParams<Half, Half, Half, std::int32_t>;
    Params params;
    fill(params);
    params.nnz_kv = readable_;
    call_flashinfer("FlashInfer attention", [&] {
      return flashinfer::BatchPrefillWithRaggedKVCacheDispatched<kFlashInferHeadDim, kFlashInferHeadDim,
                                                                 MaskMode::kNone, /*LEFT_SLIDING_WINDOW=*/false,
                                                                 /*SAME_SCHEDULE_FOR_ALL_HEADS=*/false, Variant>(
          params, /*enable_pdl=*/false, stream);
    });
  } else {
    using Params = flashinfer::BatchPrefillPagedParams<Half, Half, Half, std::int32_t>;
    Params params;
    fill(params);
    params.kv_indices = reinterpret_cast<std::int32_t*>(row_indices_.get());
    params.page_size = 1;
    call_flashinfer("FlashInfer attention", [&] {
      return flashinfer::BatchPrefillWithPagedKVCacheDispatched<kFlashInferHeadDim, kFlashInferHeadDim, MaskMode::kNone,
                                                                /*LEFT_SLIDING_WINDOW=*/false,
                                                                /*SAME_SCHEDULE_FOR_ALL_HEADS=*/false, Variant>(
          params, /*enable_pdl=*/false, stream);
    });
  }
}

void FlashInferFa3::run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        cudaStream_t stream) const {
  check(queries_ > 0, "FlashInfer attention runs before it is planned");
  check_attention_rows(q, "queries", dtype_, heads_, queries_);
  check_attention_rows(k, "keys", dtype_, heads_, readable_);
  check_attention_rows(v, "values", dtype_, heads_, readable_);
  check_attention_rows(out, "output", dtype_, heads_, queries_);
  check(k.row_stride() == v.row_stride(), "attention keys and values: found row strides ", k.row_stride(), " and ",
        v.row_stride());
  check(reading_ == Reading::dense || readable_ * k.row_stride() <= std::numeric_limits<std::uint32_t>::max(),
        "attention keys: ", readable_, " rows of stride ", k.row_stride(), " are beyond the paged kernel's reach");
  if (dtype_ == DType::bf16) {
    launch<cutlass::bfloat16_t>(q, k, v, out, stream);
  } else {
    launch<cutlass::half_t>(q, k, v, out, stream);
  }
}

std::size_t FlashInferFa3::workspace_bytes() const noexcept {
  return plan_memory_.bytes() + static_cast<std::size_t>(row_capacity_) * sizeof(std::int32_t);
}

}  // namespace lingbot_map::cuda
