#include "attention/cuda/cuda_attention.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "attention/cuda/hopper_attention.hpp"
#include "attention/cuda/tokens.hpp"
#include "backend/cuda/check.hpp"

namespace lingbot_map::cuda {
namespace {

/// Lengths of cuDNN's plans are multiples of this.
constexpr std::int64_t kBucket = 2048;

std::int64_t bucket_of(std::int64_t tokens) { return (tokens + kBucket - 1) / kBucket * kBucket; }

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, int heads, const Tensor& out) {
  const auto fits = [&q](const Tensor& x) { return x.rank() == 2 && x.dim(1) == q.dim(1) && x.dtype() == q.dtype(); };
  check(q.rank() == 2 && fits(k) && fits(v) && fits(out) && out.dim(0) == q.dim(0) && k.dim(0) > 0 &&
            v.dim(0) == k.dim(0) && k.row_stride() == v.row_stride(),
        "attention of ", q.shape_text(), " over ", k.shape_text(), " and ", v.shape_text(), " into ", out.shape_text(),
        ", all ", name_of(q.dtype()));
  check(heads > 0 && q.dim(1) % heads == 0, heads, " heads of ", q.dim(1), " elements");
}

}  // namespace

// ---- Memory --------------------------------------------------------------------------------------------------------

void* Workspace::at_least(CudaBackend& backend, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (buffers_.empty() || buffers_.back().bytes() < bytes) buffers_.push_back(backend.allocate(bytes));
  return buffers_.back().data();
}

DeviceNumbers::Turn::Turn(std::size_t bytes) : memory(bytes) {
  check_cuda(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), "making an event");
}
DeviceNumbers::Turn::~Turn() {
  (void)cudaEventSynchronize(copied);
  (void)cudaEventDestroy(copied);
}

DeviceNumbers::DeviceNumbers(CudaBackend& backend, std::size_t count)
    : backend_(backend),
      device_(backend.allocate(count * sizeof(std::int64_t))),
      first_(count * sizeof(std::int64_t)),
      second_(count * sizeof(std::int64_t)) {}

DeviceNumbers::~DeviceNumbers() = default;

void DeviceNumbers::set(std::span<const std::int64_t> numbers) {
  const auto guard = backend_.lock();
  Turn& turn = second_is_next_ ? second_ : first_;
  second_is_next_ = !second_is_next_;
  check(numbers.size_bytes() <= device_.bytes(), numbers.size(), " numbers in ", device_.bytes(), " bytes");
  check_cuda(cudaEventSynchronize(turn.copied), "planning an attention");
  std::memcpy(turn.memory.bytes().data(), numbers.data(), numbers.size_bytes());
  check_cuda(cudaMemcpyAsync(device_.data(), turn.memory.bytes().data(), numbers.size_bytes(), cudaMemcpyHostToDevice,
                             backend_.stream()),
             "planning an attention");
  check_cuda(cudaEventRecord(turn.copied, backend_.stream()), "planning an attention");
}

// ---- What both back ends share -------------------------------------------------------------------------------------

CudaAttention::CudaAttention(CudaBackend& backend, DType dtype, std::optional<DenseKernel> kernel)
    : backend_(backend), dtype_(dtype) {
  const auto wanted = [kernel](DenseKernel candidate) { return !kernel || *kernel == candidate; };
  if (dtype != DType::f32 && wanted(DenseKernel::hopper) &&
      hopper_attention_available(backend.compute_capability() / 10, backend.compute_capability() % 10)) {
    kernel_ = DenseKernel::hopper;
  } else if (dtype != DType::f32 && wanted(DenseKernel::cudnn) && backend.compute_capability() >= 80) {
    const auto library = CudnnLibrary::open();
    if (library->available()) {
      kernel_ = DenseKernel::cudnn;
      cudnn_ = std::make_unique<CudnnAttention>(library);
    }
  }
  if (kernel && kernel_ != *kernel) {
    fail(ErrorCode::unsupported, "attention of ", name_of(dtype), ": the kernel asked for is not available here");
  }
}

std::string CudaAttention::kernel_name() const {
  switch (kernel_) {
    case DenseKernel::hopper: return "own kernel for compute capability 9.0";
    case DenseKernel::cudnn: return "cuDNN";
    case DenseKernel::portable: return dtype_ == DType::f32 ? "own exact float32 kernel" : "own kernel";
  }
  return "?";
}

void CudaAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, int groups, int heads, std::int64_t keys,
                           const std::int64_t* range, const Tensor& out) {
  const auto guard = backend_.lock();
  const std::int64_t queries = q.dim(0) / groups;
  const auto head_dim = static_cast<int>(q.dim(1) / heads);
  if (kernel_ == DenseKernel::hopper && head_dim == 64) {
    HopperAttention call{.q = q.raw(),
                         .q_stride = q.row_stride(),
                         .k = k.raw(),
                         .v = v.raw(),
                         .kv_stride = k.row_stride(),
                         .out = out.raw(),
                         .out_stride = out.row_stride(),
                         .groups = groups,
                         .queries = queries,
                         .heads = heads,
                         .keys = keys,
                         .range = range,
                         .is_bf16 = q.dtype() == DType::bf16};
    call.workspace_bytes = hopper_attention_workspace(queries, heads, groups);
    call.workspace = workspace_.at_least(backend_, call.workspace_bytes);
    hopper_attention(call, backend_.stream());
    return;
  }
  if (kernel_ == DenseKernel::cudnn && range == nullptr) {
    const CudnnAttentionPlan* plan = cudnn_->prepare({.dtype = q.dtype(),
                                                      .batch = groups,
                                                      .heads = heads,
                                                      .head_dim = head_dim,
                                                      .queries = queries,
                                                      .keys = keys,
                                                      .q_stride = q.row_stride(),
                                                      .k_stride = k.row_stride(),
                                                      .v_stride = v.row_stride(),
                                                      .out_stride = out.row_stride()});
    if (plan != nullptr) {
      cudnn_->run(*plan, q.raw(), k.raw(), v.raw(), out.raw(), nullptr, nullptr,
                  workspace_.at_least(backend_, plan->workspace_bytes()), backend_.stream());
      return;
    }
  }
  AttentionCall call{.q = q.raw(),
                     .q_stride = q.row_stride(),
                     .k = k.raw(),
                     .v = v.raw(),
                     .kv_stride = k.row_stride(),
                     .out = out.raw(),
                     .out_stride = out.row_stride(),
                     .groups = groups,
                     .queries = queries,
                     .heads = heads,
                     .head_dim = head_dim,
                     .keys = keys,
                     .range = range,
                     .dtype = q.dtype()};
  const bool exact = q.dtype() == DType::f32;
  call.workspace_bytes = exact ? attention_f32_workspace(call) : attention_16bit_workspace(call);
  call.workspace = workspace_.at_least(backend_, call.workspace_bytes);
  (exact ? attention_f32 : attention_16bit)(call, backend_.stream());
}

void CudaAttention::within_frames(const Tensor& q, const Tensor& k, const Tensor& v, int frames, int heads,
                                  const Tensor& out) {
  check_attention(q, k, v, heads, out);
  check(frames > 0 && q.dim(0) % frames == 0 && k.dim(0) == q.dim(0), "attention of ", frames, " frames in ",
        q.shape_text(), " and ", k.shape_text());
  attend(q, k, v, frames, heads, k.dim(0) / frames, nullptr, out);
}

void CudaAttention::over_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& count, int heads,
                              const Tensor& out) {
  const auto guard = backend_.lock();
  check_attention(q, k, v, heads, out);
  check(q.dtype() == DType::f32 && count.elements() == 1 && count.dtype() == DType::i64, "over_rows of ",
        name_of(q.dtype()), " with a count of ", count.shape_text());
  AttentionCall call{.q = q.raw(),
                     .q_stride = q.row_stride(),
                     .k = k.raw(),
                     .v = v.raw(),
                     .kv_stride = k.row_stride(),
                     .out = out.raw(),
                     .out_stride = out.row_stride(),
                     .queries = q.dim(0),
                     .heads = heads,
                     .head_dim = static_cast<int>(q.dim(1) / heads),
                     .keys = kAddressableTokens};
  call.workspace_bytes = attention_rows_workspace(call);
  call.workspace = rows_workspace_.at_least(backend_, call.workspace_bytes);
  attention_rows(call, count.data<std::int64_t>(), backend_.stream());
}

// ---- Dense ---------------------------------------------------------------------------------------------------------

SdpaCuda::SdpaCuda(CudaBackend& backend, DType dtype, std::optional<DenseKernel> kernel)
    : CudaAttention(backend, dtype, kernel), range_numbers_(backend, 3) {}

VisibleRange SdpaCuda::touched(const VisibleRange& range) const {
  if (kernel() == DenseKernel::cudnn) return {range.first_token, bucket_of(range.tokens)};
  return {range.first_token, range.tokens + kMostTokensPastRange};
}

void SdpaCuda::plan(const TwoStreamCache& cache, std::int64_t queries) {
  range_ = cache.visible();
  check(touched(range_).end() <= kAddressableTokens, "a cache of ", range_.end(), " tokens");
  // cuDNN reads two 32-bit numbers: the lengths of queries and keys.
  const std::array<std::int32_t, 2> lengths = {static_cast<std::int32_t>(queries),
                                               static_cast<std::int32_t>(range_.tokens)};
  range_numbers_.set(std::array{range_.first_token, range_.tokens, std::bit_cast<std::int64_t>(lengths)});
  signature_ = static_cast<std::uint64_t>(queries);
  if (kernel() == DenseKernel::cudnn) {
    signature_ = (signature_ << 40U) ^ (static_cast<std::uint64_t>(range_.first_token) << 20U) ^
                 static_cast<std::uint64_t>(bucket_of(range_.tokens));
  }
}

void SdpaCuda::run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) {
  const auto guard = backend_.lock();
  const Tensor k = store.keys(layer);
  const Tensor v = store.values(layer);
  check_attention(q, k, v, heads, out);
  check(touched(range_).end() <= k.dim(0), "attention over tokens ", range_.first_token, " to ", range_.end(), " of ",
        k.dim(0));
  if (kernel() == DenseKernel::cudnn) {
    run_cudnn(q, k, v, heads, out);
  } else {
    attend(q, k, v, 1, heads, kAddressableTokens, range_numbers_.data(), out);
  }
}

void SdpaCuda::run_cudnn(const Tensor& q, const Tensor& k, const Tensor& v, int heads, const Tensor& out) {
  const std::int64_t keys = bucket_of(range_.tokens);
  const CudnnAttentionPlan* plan = cudnn().prepare({.dtype = q.dtype(),
                                                    .batch = 1,
                                                    .heads = heads,
                                                    .head_dim = q.dim(1) / heads,
                                                    .queries = q.dim(0),
                                                    .keys = keys,
                                                    .q_stride = q.row_stride(),
                                                    .k_stride = k.row_stride(),
                                                    .v_stride = v.row_stride(),
                                                    .out_stride = out.row_stride(),
                                                    .lengths_on_device = true});
  if (plan == nullptr) {
    attend(q, k, v, 1, heads, kAddressableTokens, range_numbers_.data(), out);
    return;
  }
  const auto* lengths = reinterpret_cast<const std::int32_t*>(range_numbers_.data() + 2);
  cudnn().run(*plan, q.raw(), k.rows(range_.first_token, keys).raw(), v.rows(range_.first_token, keys).raw(), out.raw(),
              lengths, lengths + 1, workspace_.at_least(backend_, plan->workspace_bytes()), backend_.stream());
}

}  // namespace lingbot_map::cuda
