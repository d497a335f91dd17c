#include "attention/cuda/flashinfer_attention.hpp"

#include <vector>

#include "attention/cuda/gather_pages.hpp"
#include "attention/cuda/tokens.hpp"

namespace lingbot_map::cuda {
namespace {

/// A plane that a recorded launch sees as the same while it grows.
Tensor endless(const Tensor& plane) {
  return {plane.raw(), plane.dtype(), {kAddressableTokens, plane.dim(1)}, plane.device()};
}

}  // namespace

std::string FlashInferAttention::why_not(const CudaBackend& backend, DType dtype) {
  if (dtype == DType::f32 || FlashInferFa3::available() || FlashInferFa2::available(dtype)) return {};
  return message("FlashInfer has no kernel for ", name_of(dtype), " on compute capability ",
                 backend.compute_capability() / 10, ".", backend.compute_capability() % 10);
}

FlashInferAttention::FlashInferAttention(CudaBackend& backend, DType dtype, int heads)
    : CudaAttention(backend, dtype), heads_(heads) {
  const std::string why = why_not(backend, dtype);
  if (!why.empty()) fail(ErrorCode::unsupported, "attention back end 'flashinfer': ", why);
  if (dtype == DType::f32) return;
  if (FlashInferFa3::available()) {
    fa3_.emplace(heads, dtype);
  } else {
    fa2_.emplace(heads, dtype);
  }
}

std::string FlashInferAttention::description() const {
  return fa3_   ? "flashinfer (FlashAttention-3)"
         : fa2_ ? "flashinfer (FlashAttention-2)"
                : "flashinfer (gathered pages)";
}

VisibleRange FlashInferAttention::touched(const VisibleRange& range) const {
  return {range.first_token, range.tokens + (fa3_ ? kMostTokensPastRange : 0)};
}

void FlashInferAttention::plan(const TwoStreamCache& cache, std::int64_t queries) {
  const auto guard = backend_.lock();
  range_ = cache.visible();
  check(touched(range_).end() <= kAddressableTokens, "a cache of ", range_.end(), " tokens");
  if (fa3_) {
    fa3_->plan_range(range_.first_token, range_.tokens, kAddressableTokens, static_cast<int>(queries),
                     backend_.stream());
  } else if (fa2_) {
    fa2_->plan_pages(cache.build_visible_page_table(), cache.compute_last_page_len(), cache.layout().patches_per_frame,
                     static_cast<int>(queries), backend_.stream());
  } else {
    plan_gather(cache);
  }
}

void FlashInferAttention::plan_gather(const TwoStreamCache& cache) {
  const std::vector<std::int32_t> pages = cache.build_visible_page_table();
  const std::vector<std::int64_t> numbers(pages.begin(), pages.end());
  page_size_ = cache.layout().patches_per_frame;
  if (static_cast<std::int64_t>(pages.size()) > pages_) {
    pages_ = 2 * static_cast<std::int64_t>(pages.size());
    gather_numbers_.emplace(backend_, static_cast<std::size_t>(pages_));
  }
  gathered_tokens_ = (static_cast<std::int64_t>(pages.size()) - 1) * page_size_ + cache.compute_last_page_len();
  gather_numbers_->set(numbers);
}

std::uint64_t FlashInferAttention::signature() const {
  // Gathering launches as many blocks as there are tokens.
  std::uint64_t hash = static_cast<std::uint64_t>(gathered_tokens_);
  const auto add = [&hash](const CaptureSignature& signature) {
    for (const std::int64_t value : signature.baked) hash = hash * 0x100000001b3U ^ static_cast<std::uint64_t>(value);
  };
  if (gather_numbers_) hash = hash * 31 + reinterpret_cast<std::uintptr_t>(gather_numbers_->data());
  if (fa3_) add(fa3_->signature());
  if (fa2_) add(fa2_->signature());
  return hash;
}

void FlashInferAttention::run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) {
  const auto guard = backend_.lock();
  check(heads == heads_, "attention of ", heads, " heads planned for ", heads_);
  const Tensor k = store.keys(layer);
  const Tensor v = store.values(layer);
  check(touched(range_).end() <= k.dim(0), "attention over tokens ", range_.first_token, " to ", range_.end(), " of ",
        k.dim(0));
  if (fa3_) {
    fa3_->run(q, endless(k), endless(v), out, backend_.stream());
  } else if (fa2_) {
    fa2_->run(q, endless(k), endless(v), out, backend_.stream());
  } else {
    run_gathered(k, v, q, heads, out);
  }
}

void FlashInferAttention::run_gathered(const Tensor& k, const Tensor& v, const Tensor& q, int heads,
                                       const Tensor& out) {
  const std::int64_t width = k.dim(1);
  const std::int64_t elements = gathered_tokens_ * width;
  const std::size_t bytes = 2 * static_cast<std::size_t>(elements) * sizeof(float);
  if (gathered_.bytes() < bytes) {
    gathered_ = Buffer();
    gathered_ = backend_.allocate(bytes + bytes / 4);
  }
  auto* const rows = static_cast<float*>(gathered_.data());
  const auto gather = [&](const Tensor& plane, float* target) {
    gather_pages(plane.data<float>(), plane.row_stride(), gather_numbers_->data(), page_size_, gathered_tokens_, width,
                 target, backend_.stream());
  };
  gather(k, rows);
  gather(v, rows + elements);
  const Tensor keys(rows, DType::f32, {gathered_tokens_, width}, q.device());
  const Tensor values(rows + elements, DType::f32, {gathered_tokens_, width}, q.device());
  attend(q, keys, values, 1, heads, gathered_tokens_, nullptr, out);
}

}  // namespace lingbot_map::cuda
