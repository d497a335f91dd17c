#pragma once

#include <memory>

#include "attention/attention.hpp"
#include "cache/camera_cache.hpp"
#include "cache/kv_store.hpp"
#include "cache/two_stream_cache.hpp"
#include "model/network.hpp"

namespace lingbot_map {

class StateReader;
class StateWriter;

/// What a session keeps of its frames, and how one forward pass works on it.
class StreamState {
 public:
  StreamState(const Network& network, const SessionOptions& options, Backend& backend, Attention& attention,
              DType dtype, const FrameGrid& grid);

  /// What a pass is for. A candidate is a frame that is judged by its results: only with
  /// SessionOptions::flow_threshold, and then in place of keyframe and non_keyframe.
  enum class Role : std::uint8_t { scale, keyframe, non_keyframe, candidate, query };

  /// A pass has three steps. begin() takes the places of `frames` frames (one, unless they are the scale frames) in the
  /// caches, plans the attention, and writes to `host`, a block u8 [PassInputs::bytes()] of host memory, all that the
  /// pass must know of them but the images.
  void begin(Role role, std::int64_t frames, const Tensor& host);
  /// Runs the network on `inputs`, that block on the device. Results lie in `arena`. `clock` may be null.
  [[nodiscard]] PassResult run(const Tensor& inputs, Arena& arena, StageTimes& times, StageClock* clock);
  /// Leaves the caches as the role demands: scale frames and keyframes are kept, the others leave no trace. A candidate
  /// stays pending until settle(), and nothing may be begun before that.
  void end();
  /// Keeps the pending candidate as a keyframe, or forgets it as a non-keyframe.
  void settle(bool keep);
  /// Forgets all frames; memory stays.
  void clear();
  /// Equal for two passes that were begun exactly when one's recorded operations may be replayed for the other.
  [[nodiscard]] std::uint64_t signature() const;

  /// For measurements: leaves the caches as if `keyframes` more frames had been kept, with keys and values that are
  /// copies of the last scale frame's. Needs the scale frames.
  void prefill(std::int64_t keyframes);

  /// Writes the caches and counters, between two passes.
  void save(StateWriter& state) const;
  /// Goes on from what was saved with the same network, options, dtype and grid; nothing may have been run before.
  /// Throws Error(input) where the state contradicts itself or does not fit.
  void restore(StateReader& state);

  [[nodiscard]] const TwoStreamCache& cache() const noexcept { return cache_; }
  [[nodiscard]] std::size_t bytes_in_use() const noexcept { return store_.bytes_in_use() + camera_.bytes_in_use(); }
  /// Bytes of all slots (with their special tokens if these do not stay for ever), and those that a kept frame adds for
  /// ever.
  [[nodiscard]] std::size_t slot_bytes() const noexcept;
  [[nodiscard]] std::size_t bytes_per_kept_frame() const noexcept;

 private:
  const Network& network_;
  const SessionOptions& options_;
  Backend& backend_;
  Attention& attention_;
  DType dtype_;
  SizeTables tables_;
  TwoStreamCache cache_;
  KvStore store_;
  CameraCache camera_;
  std::int64_t camera_frames_seen_ = 0;
  Role role_ = Role::scale;  ///< of the pass that was begun
  std::vector<TokenVariant> variants_;
};

}  // namespace lingbot_map
