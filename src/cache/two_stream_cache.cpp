#include "cache/two_stream_cache.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "base/message.hpp"

namespace lingbot_map {

namespace {

constexpr std::int64_t kMaxPage = std::numeric_limits<std::int32_t>::max();

void need_positive(std::string_view name, int value) {
  if (value < 1) fail(ErrorCode::usage, name, ": found ", value, ", expected at least 1");
}

}  // namespace

TwoStreamCache::TwoStreamCache(const Layout& layout, KeepDecision decision) : layout_(layout), decision_(decision) {
  need_positive("scale_frames", layout.scale_frames);
  need_positive("window", layout.window);
  need_positive("patches_per_frame", layout.patches_per_frame);
  need_positive("special_tokens", layout.special_tokens);
  if (slots() > kMaxPage) {
    fail(ErrorCode::usage, "window and scale_frames: found ", slots(), " frames of cache, expected at most ", kMaxPage);
  }
}

std::vector<FrameSpan> TwoStreamCache::append_scale_frames(int count) {
  check(scale_ == 0 && !pending_, "scale frames come once, before any other frame");
  check(count >= 1 && count <= layout_.scale_frames, count, " scale frames in a cache for ", layout_.scale_frames);
  std::vector<FrameSpan> spans;
  spans.reserve(static_cast<std::size_t>(count));
  for (; scale_ < count; ++scale_)
    spans.push_back({top_ring_slot() * layout_.patches_per_frame, special_token(scale_)});
  return spans;
}

FrameSpan TwoStreamCache::begin_frame(FrameRole role) {
  check(scale_ > 0, "a streamed frame before the scale frames");
  check(!pending_, "a frame begun while another one is pending");
  check(role == FrameRole::passing || (role == FrameRole::keyframe) == (decision_ == KeepDecision::before_attention),
        "a frame of a role that the cache's scheme does not have");
  pending_ = role;
  const std::int64_t place = place_of(role);
  return {(top_ring_slot() - place) * layout_.patches_per_frame,
          special_token(layout_.trajectory_memory ? frames_kept() : scale_ + place)};
}

void TwoStreamCache::commit() {
  check(pending_ && *pending_ != FrameRole::passing, "commit without a frame that can be kept");
  pending_.reset();
  ++window_kept_;
}

void TwoStreamCache::roll_back() {
  check(pending_.has_value(), "roll back without a pending frame");
  check(!overwrites(), "roll back of a keyframe that has overwritten the oldest one");
  pending_.reset();
}

bool TwoStreamCache::overwrites() const noexcept {
  return pending_ == FrameRole::keyframe && window_kept_ >= layout_.window;
}

void TwoStreamCache::clear() noexcept {
  scale_ = 0;
  window_kept_ = 0;
  pending_.reset();
}

VisibleRange TwoStreamCache::visible() const {
  const std::int64_t ring = layout_.window + std::int64_t{1};
  // What is free between frames is one slot of the full ring; only at its lower end does it leave the rest whole.
  check(pending_ || decision_ == KeepDecision::before_attention || window_kept_ < ring ||
            window_kept_ % ring == layout_.window,
        "no contiguous range between frames when frames are judged after attention");
  const std::int64_t first_token = (top_ring_slot() + 1 - held_frames()) * layout_.patches_per_frame;
  return {first_token, special_end() - first_token};
}

VisibleRange TwoStreamCache::kept() const noexcept {
  const bool with_free_slot = decision_ == KeepDecision::after_attention && window_kept_ > layout_.window;
  const std::int64_t slots = live_frames() + (with_free_slot ? 1 : 0);
  const std::int64_t first_token = (top_ring_slot() + 1 - slots) * layout_.patches_per_frame;
  return {first_token, special_token(layout_.trajectory_memory ? frames_kept() : scale_ + slots) - first_token};
}

std::vector<std::int32_t> TwoStreamCache::build_visible_page_table() const {
  const VisibleRange range = visible();
  const std::int64_t first = range.first_token / layout_.patches_per_frame;
  const std::int64_t end = (range.end() + layout_.patches_per_frame - 1) / layout_.patches_per_frame;
  check(end <= kMaxPage, "page number ", end, " does not fit 32 bits");
  std::vector<std::int32_t> pages(static_cast<std::size_t>(end - first));
  std::iota(pages.begin(), pages.end(), static_cast<std::int32_t>(first));
  return pages;
}

std::int64_t TwoStreamCache::compute_last_page_len() const {
  const std::int64_t tokens = visible().tokens;
  return tokens == 0 ? 0 : (tokens - 1) % layout_.patches_per_frame + 1;
}

CacheStats TwoStreamCache::statistics() const noexcept {
  const std::int64_t live = live_frames();
  return {.frame_count = frames_kept(),
          .scale_pages = scale_,
          .live_pages = live,
          .free_pages = slots() - scale_ - live,
          .special_tokens = (layout_.trajectory_memory ? frames_kept() : scale_ + live) * layout_.special_tokens};
}

std::int64_t TwoStreamCache::slots() const noexcept { return std::int64_t{1} + layout_.window + layout_.scale_frames; }

std::int64_t TwoStreamCache::top_ring_slot() const noexcept { return slots() - 1 - scale_; }

std::int64_t TwoStreamCache::live_frames() const noexcept {
  return std::min<std::int64_t>(window_kept_, layout_.window);
}

std::int64_t TwoStreamCache::place_of(FrameRole role) const noexcept {
  if (role == FrameRole::keyframe) return window_kept_ % layout_.window;
  if (decision_ == KeepDecision::before_attention) return live_frames();
  return window_kept_ % (layout_.window + std::int64_t{1});
}

std::int64_t TwoStreamCache::held_frames() const noexcept {
  return live_frames() + (pending_ && !overwrites() ? 1 : 0);
}

std::int64_t TwoStreamCache::special_end() const noexcept {
  return special_token(layout_.trajectory_memory ? frames_kept() + (pending_ ? 1 : 0) : scale_ + held_frames());
}

std::int64_t TwoStreamCache::special_token(std::int64_t n) const noexcept {
  return slot_tokens() + n * layout_.special_tokens;
}

}  // namespace lingbot_map
