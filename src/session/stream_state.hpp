#pragma once

#include <memory>

#include "attention/attention.hpp"
#include "cache/camera_cache.hpp"
#include "cache/kv_store.hpp"
#include "cache/two_stream_cache.hpp"
#include "model/network.hpp"

namespace lingbot_map {

/// What a session keeps of its frames, and how one forward pass works on it.
class StreamState {
 public:
  StreamState(const Network& network, const SessionOptions& options, Backend& backend, Attention& attention,
              DType dtype, const FrameGrid& grid);

  /// What a pass is for.
  enum class Role : std::uint8_t { scale, keyframe, non_keyframe, query };

  /// Runs `images` (one, unless they are the scale frames) and leaves the caches as the role demands: scale frames and
  /// keyframes are kept, the others leave no trace. Results lie in `arena`, which is at least `arena_bytes` large.
  [[nodiscard]] PassResult run(Role role, const Tensor& images, Arena& arena, StageTimes& times);

  /// For measurements: leaves the caches as if `keyframes` more frames had been kept, with keys and values that are
  /// copies of the last scale frame's. Needs the scale frames.
  void prefill(std::int64_t keyframes);

  [[nodiscard]] const TwoStreamCache& cache() const noexcept { return cache_; }
  [[nodiscard]] std::size_t bytes_in_use() const noexcept { return store_.bytes_in_use() + camera_.bytes_in_use(); }
  /// Bytes of all slots, and those that a kept frame adds for ever.
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
};

}  // namespace lingbot_map
