#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "cache/two_stream_cache.hpp"

namespace lingbot_map {

/// A key as the network means it: which frame, special token or patch, and which of them.
struct Key {
  std::int64_t frame = -1;
  bool special = false;
  int token = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// The slow truth beside a TwoStreamCache. It keeps the set of keys that a frame must see, straight from the rule
///     patches of scale frames + patches of the last W kept frames + specials of every kept frame (+ the frame itself)
/// (without the trajectory memory: specials of the frames whose patches are seen)
/// and a memory whose every token position remembers the key that was last written there. Frames get new numbers
/// whether they are kept or not, so that a stale key never looks like a right one.
class OracleCache {
 public:
  explicit OracleCache(const TwoStreamCache::Layout& layout) : layout_(layout) {}

  void append_scale_frames(const std::vector<FrameSpan>& spans) {
    for (const FrameSpan& span : spans) {
      write(span);
      scale_.push_back(next_++);
    }
  }
  void begin(const FrameSpan& span, FrameRole role) {
    write(span);
    pending_ = next_++;
    before_ = window_;
    if (role == FrameRole::keyframe) {
      window_.push_back(pending_);
      evict();
    }
    role_ = role;
  }
  void commit() {
    if (role_ == FrameRole::candidate) {
      window_.push_back(pending_);
      evict();
    }
    kept_.push_back(pending_);
    pending_ = -1;
  }
  void roll_back() {
    window_ = before_;
    pending_ = -1;
  }
  void clear() { *this = OracleCache(layout_); }

  [[nodiscard]] std::set<Key> expected_keys() const {
    std::set<Key> keys;
    std::vector<std::int64_t> with_patches = scale_;
    std::vector<std::int64_t> with_specials = scale_;
    with_patches.insert(with_patches.end(), window_.begin(), window_.end());
    with_specials.insert(with_specials.end(), kept_.begin(), kept_.end());
    if (!layout_.trajectory_memory) with_specials = with_patches;
    if (pending_ >= 0) {
      // A pending keyframe is in the window already.
      if (role_ != FrameRole::keyframe) with_patches.push_back(pending_);
      with_specials.push_back(pending_);
    }
    for (const std::int64_t frame : with_patches) add(keys, frame, false);
    for (const std::int64_t frame : with_specials) add(keys, frame, true);
    return keys;
  }

  /// What lies in the range; positions never written and keys found twice come as frame -1.
  [[nodiscard]] std::set<Key> keys_in(const VisibleRange& range) const {
    std::set<Key> keys;
    for (std::int64_t token = range.first_token; token < range.end(); ++token) {
      const auto found = memory_.find(token);
      if (found == memory_.end() || !keys.insert(found->second).second) keys.insert(Key{});
    }
    return keys;
  }

  [[nodiscard]] CacheStats statistics() const {
    const auto scale = static_cast<std::int64_t>(scale_.size());
    const auto frames = scale + static_cast<std::int64_t>(kept_.size());
    const auto live = static_cast<std::int64_t>(window_.size());
    return {frames, scale, live, 1 + layout_.window + layout_.scale_frames - scale - live,
            (layout_.trajectory_memory ? frames : scale + live) * layout_.special_tokens};
  }

 private:
  void write(const FrameSpan& span) {
    for (int i = 0; i < layout_.patches_per_frame; ++i) memory_[span.patch_token + i] = {next_, false, i};
    for (int i = 0; i < layout_.special_tokens; ++i) memory_[span.special_token + i] = {next_, true, i};
  }
  void evict() {
    while (window_.size() > static_cast<std::size_t>(layout_.window)) window_.pop_front();
  }
  void add(std::set<Key>& keys, std::int64_t frame, bool special) const {
    const int tokens = special ? layout_.special_tokens : layout_.patches_per_frame;
    for (int i = 0; i < tokens; ++i) keys.insert({frame, special, i});
  }

  TwoStreamCache::Layout layout_;
  std::map<std::int64_t, Key> memory_;
  std::vector<std::int64_t> scale_;
  std::vector<std::int64_t> kept_;   ///< streamed frames kept
  std::deque<std::int64_t> window_;  ///< those whose patches are held
  std::deque<std::int64_t> before_;  ///< window_ as it was before the pending frame
  std::int64_t pending_ = -1;
  std::int64_t next_ = 0;
  FrameRole role_ = FrameRole::passing;
};

}  // namespace lingbot_map
