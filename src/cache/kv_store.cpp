#include "cache/kv_store.hpp"

#include <algorithm>

#include "base/message.hpp"

namespace lingbot_map {

namespace {

/// Far above any real size, and small enough that token * row bytes never overflows.
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 18;

}  // namespace

KvStore::KvStore(const Shape& shape, const GrowingMemoryMaker& make) : shape_(shape), first_used_(kMaxTokens) {
  check(shape.layers > 0 && shape.width > 0 && shape.width <= kMaxWidth, "cache of ", shape.layers,
        " layers with rows ", "of ", shape.width, " elements");
  if (shape.slot_tokens < 1 || shape.slot_tokens > kMaxTokens) {
    fail(ErrorCode::usage, "cache: found ", shape.slot_tokens, " tokens in window and scale frames, expected 1 to ",
         kMaxTokens, "; take a smaller window or smaller frames");
  }
  planes_.resize(2 * static_cast<std::size_t>(shape.layers));
  for (auto& plane : planes_) plane = make();
  grow(shape.slot_tokens);
}

void KvStore::prepare(VisibleRange range, std::int64_t touched_end) {
  check(range.first_token >= 0 && range.tokens >= 0 && range.first_token <= kMaxTokens && range.tokens <= kMaxTokens &&
            touched_end <= 2 * kMaxTokens,
        "cache range of ", range.tokens, " tokens from token ", range.first_token);
  grow(std::max(range.end(), touched_end));
  // One plane a call grows ahead, so that the planes do not all have to grow in the same frame.
  constexpr std::int64_t kMostTokensOfFrame = 16;  // what a frame leaves for ever, and more
  const auto planes = static_cast<std::int64_t>(planes_.size());
  planes_[next_ahead_]->ensure(static_cast<std::size_t>(tokens_ + kMostTokensOfFrame * planes) * row_bytes());
  next_ahead_ = (next_ahead_ + 1) % planes_.size();
  first_used_ = std::min(first_used_, range.first_token);
  end_used_ = std::max(end_used_, range.end());
}

std::size_t KvStore::bytes_per_token() const noexcept { return planes_.size() * row_bytes(); }

std::size_t KvStore::bytes_in_use() const noexcept {
  return static_cast<std::size_t>(std::max<std::int64_t>(end_used_ - first_used_, 0)) * bytes_per_token();
}

std::size_t KvStore::row_bytes() const noexcept {
  return static_cast<std::size_t>(shape_.width) * size_of(shape_.dtype);
}

void KvStore::grow(std::int64_t tokens) {
  if (tokens <= tokens_) return;
  for (const auto& plane : planes_) plane->ensure(static_cast<std::size_t>(tokens) * row_bytes());
  tokens_ = tokens;
}

Tensor KvStore::plane(std::int64_t index) const {
  check(index >= 0 && index < static_cast<std::int64_t>(planes_.size()), "cache plane ", index, " of ", planes_.size());
  const GrowingMemory& memory = *planes_[static_cast<std::size_t>(index)];
  return {memory.data(), shape_.dtype, {tokens_, shape_.width}, memory.device()};
}

}  // namespace lingbot_map
