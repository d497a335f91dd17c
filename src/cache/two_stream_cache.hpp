#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lingbot_map/session.hpp"

namespace lingbot_map {

class StateReader;
class StateWriter;

/// Where one frame writes its keys and values: token positions from the base of every plane.
struct FrameSpan {
  std::int64_t patch_token = 0;    ///< first of `patches_per_frame` tokens, always the border of a slot
  std::int64_t special_token = 0;  ///< first of `special_tokens` tokens
  friend bool operator==(const FrameSpan&, const FrameSpan&) = default;
};

/// What attention reads: the tokens [first_token, first_token + tokens) of every plane, all of them and no mask.
/// `first_token` is the border of a slot.
struct VisibleRange {
  std::int64_t first_token = 0;
  std::int64_t tokens = 0;
  [[nodiscard]] std::int64_t end() const noexcept { return first_token + tokens; }
  friend bool operator==(const VisibleRange&, const VisibleRange&) = default;
};

/// When it is known whether a frame is kept. One cache uses one scheme.
enum class KeepDecision : std::uint8_t {
  before_attention,  ///< by a keyframe interval: a keyframe evicts the oldest one first, then attends
  after_attention,   ///< by what the network says of it (flow): it attends beside a full window, then the oldest goes
};

/// What a streamed frame is to the cache.
enum class FrameRole : std::uint8_t {
  keyframe,   ///< kept; attends to the `window` newest window frames, itself included (before_attention only)
  passing,    ///< attends to up to `window` window frames and itself, and leaves no trace (either scheme)
  candidate,  ///< attends as a passing frame does; commit() keeps it, roll_back() forgets it (after_attention only)
};

/// The book-keeping of the two-stream key/value cache: which frame lies where. It holds integers only; KvStore holds
/// the bytes, and both planes (K and V) of every layer are laid out alike:
///
///     [ spare slot | ring of `window` slots | `scale_frames` scale slots | special tokens, growing upward ... ]
///
/// A slot is the patches of one frame. What a frame may see is
///     patches of the scale frames  +  patches of the last `window` kept frames  +  specials of every kept frame
/// and, with rotary positions already in K and no mask, the order of keys is free. So slots are given out such that
/// this set is one contiguous range at any time that attention runs:
/// * Scale frames take the scale slots from the highest down, and window frames follow downward from the lowest scale
///   slot in use, so a range that grows at its lower end always joins the special tokens that grow at the upper one.
///   (With fewer scale frames than slots the ring simply lies that many slots higher.)
/// * before_attention: once the ring is full, a keyframe overwrites the oldest frame in place. A passing frame takes
///   the slot just below the range - the next ring slot, or the spare one - and the special tokens just above it.
/// * after_attention: ring and spare slot are one ring of window + 1 slots, of which at most `window` are held between
///   frames. The next frame takes the free slot, wherever it is, so while it attends all slots are held and there is no
///   hole. commit() frees the slot of the oldest frame, which is the next one around the ring; roll_back() frees the
///   frame's own slot again. A hole in the middle exists only while nobody attends.
///
/// Without the trajectory memory (Layout::trajectory_memory) the special tokens of a frame go when its patches go: they
/// lie in a ring of their own above those of the scale frames, which turns as the ring of slots does.
///
/// Positions are 64-bit and the special tokens have no end, so the number of frames has no limit. All operations take
/// constant time. Source: the paged cache of LingBot-Map's streaming inference.
class TwoStreamCache {
 public:
  struct Layout {
    int scale_frames = 8;
    int window = 64;
    int patches_per_frame = 0;
    int special_tokens = 6;
    bool trajectory_memory = true;  ///< special tokens of every kept frame stay for ever
  };

  /// Throws Error(usage) that names the first number that is not positive, or sizes whose product is too large.
  explicit TwoStreamCache(const Layout& layout, KeepDecision decision = KeepDecision::before_attention);

  /// Keeps `count` frames (1 to layout.scale_frames) as scale frames and says where each goes, in frame order. Once in
  /// a sequence, before any other frame. They attend to each other through visible() like any other frame.
  [[nodiscard]] std::vector<FrameSpan> append_scale_frames(int count);

  /// Begins a streamed frame: from here to commit() or roll_back() it is pending, and visible() includes it. Needs the
  /// scale frames, no pending frame, and a role that the scheme has.
  [[nodiscard]] FrameSpan begin_frame(FrameRole role);
  /// Keeps the pending keyframe or candidate.
  void commit();
  /// Forgets the pending frame: afterwards every number here is what it was before begin_frame(). A keyframe that took
  /// the place of an older one (`overwrites()`) cannot be undone and throws Error(internal).
  void roll_back();
  /// Whether the pending frame takes a slot that a kept frame held.
  [[nodiscard]] bool overwrites() const noexcept;
  /// Forgets all frames: the start of a sequence.
  void clear() noexcept;
  /// Writes which frames it keeps; none may be pending.
  void save(StateWriter& state) const;
  /// Becomes what a cache of the same layout and scheme was when it was saved. Throws Error(input) on numbers that it
  /// cannot have had.
  void restore(const StateReader& state);

  /// The tokens that attention reads now. With a pending frame, or straight after the scale frames. Throws
  /// Error(internal) when after_attention has a hole because no frame is pending.
  [[nodiscard]] VisibleRange visible() const;
  /// The range of all tokens that kept frames hold, with at most one slot that nobody holds in it.
  [[nodiscard]] VisibleRange kept() const noexcept;
  /// visible() as pages of `patches_per_frame` tokens (page p is the tokens from p * patches_per_frame on): ascending
  /// and without gaps; all are full but the last, which holds compute_last_page_len() tokens.
  [[nodiscard]] std::vector<std::int32_t> build_visible_page_table() const;
  /// Tokens of visible() on the last page: 1 to patches_per_frame; 0 in an empty cache.
  [[nodiscard]] std::int64_t compute_last_page_len() const;

  /// Counts of kept frames; a pending frame does not count.
  [[nodiscard]] CacheStats statistics() const noexcept;
  /// Scale frames and keyframes kept: the temporal index of the next frame.
  [[nodiscard]] std::int64_t frames_kept() const noexcept { return scale_ + window_kept_; }
  [[nodiscard]] std::optional<FrameRole> pending() const noexcept { return pending_; }

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] KeepDecision decision() const noexcept { return decision_; }
  /// Slots in all, the spare one included.
  [[nodiscard]] std::int64_t slots() const noexcept;
  /// Tokens before the special tokens: slots() * patches_per_frame.
  [[nodiscard]] std::int64_t slot_tokens() const noexcept { return slots() * layout_.patches_per_frame; }

 private:
  /// The slot below the lowest scale slot in use.
  [[nodiscard]] std::int64_t top_ring_slot() const noexcept;
  /// Window frames whose patches are held between frames.
  [[nodiscard]] std::int64_t live_frames() const noexcept;
  /// Slots from the top of the ring down to the one that a frame of this role takes.
  [[nodiscard]] std::int64_t place_of(FrameRole role) const noexcept;
  /// Streamed frames whose patches are held now, the pending one included.
  [[nodiscard]] std::int64_t held_frames() const noexcept;
  [[nodiscard]] std::int64_t special_end() const noexcept;
  /// The first token of the n-th group of special tokens.
  [[nodiscard]] std::int64_t special_token(std::int64_t n) const noexcept;

  Layout layout_;
  KeepDecision decision_;
  std::int64_t scale_ = 0;        ///< scale frames kept
  std::int64_t window_kept_ = 0;  ///< window frames ever kept, evicted ones included
  std::optional<FrameRole> pending_;
};

}  // namespace lingbot_map
