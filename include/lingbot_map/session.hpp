#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lingbot_map/model.hpp"
#include "lingbot_map/types.hpp"

namespace lingbot_map {

class CollapseWatch;
class StateReader;
class StateWriter;

/// How attention is computed: `automatic` takes the fastest that the device and the precision allow.
enum class AttentionKind : std::uint8_t { automatic, sdpa, flashinfer };
[[nodiscard]] std::string_view name_of(AttentionKind kind) noexcept;

struct SessionOptions {
  int scale_frames = 8;       ///< frames of the bidirectional first pass; their patches stay in the cache for ever
  int window = 64;            ///< keyframes whose patches stay in the sliding window
  int keyframe_interval = 1;  ///< every n-th streamed frame is kept, the first one always
  /// Above 0, a frame is kept for what it shows instead of for its number: when its pixels moved by more than this
  /// since the last kept frame, on average, by its own depth and pose. Then keyframe_interval must be 1.
  double flow_threshold = 0;       ///< pixels
  int max_non_keyframe_gap = 100;  ///< with flow_threshold: a frame this long after the last kept one is always kept
  int camera_iterations = 4;       ///< refinement passes of the camera head
  /// Whether the special tokens of every kept frame stay for ever, as the network was trained; else they go with the
  /// frame's patches, which is for measuring what they do.
  bool trajectory_memory = true;
  AttentionKind attention = AttentionKind::automatic;
  /// Whether a device that can may record the operations of a frame once and replay them: the same bits, sooner.
  bool graphs = true;
  /// Whether stage_times() are measured on a GPU, where that costs some speed (recorded operations cannot be timed). On
  /// the CPU they always are.
  bool profile = false;
};

/// The role a frame had.
enum class FrameType : std::uint8_t { scale = 0, keyframe = 1, non_keyframe = 2 };

/// What the network says of one frame. Camera axes are OpenCV's: x right, y down, z forward. World frame and unit are
/// those that the scale frames fixed: the first camera is near the origin, and lengths are not metric.
struct FrameResult {
  std::int64_t index =
      0;  ///< position in the sequence of pushed frames, queries not counted (a query has the next one)
  FrameType type = FrameType::scale;
  int width = 0;   ///< pixels of the network's input, which all maps have
  int height = 0;  ///< pixels
  /// Camera centre x y z, quaternion x y z w (camera to world, not normalised), vertical and horizontal field of view
  /// (rad).
  std::array<float, 9> pose_enc{};
  std::vector<float> depth;       ///< [height, width], along the optical axis
  std::vector<float> depth_conf;  ///< [height, width], above 1
  /// Only with a point head: [height, width, 3] in world coordinates, and its confidence [height, width].
  std::vector<float> world_points;
  std::vector<float> world_points_conf;
};

/// What the cache holds, with the public system's names.
struct CacheStats {
  std::int64_t frame_count = 0;     ///< frames kept: scale frames and keyframes
  std::int64_t scale_pages = 0;     ///< slots held by scale frames
  std::int64_t live_pages = 0;      ///< slots held by window frames
  std::int64_t free_pages = 0;      ///< slots in all, minus the two above
  std::int64_t special_tokens = 0;  ///< special tokens kept, of all frames
};

/// Seconds of the device that each stage took since the session began.
struct StageTimes {
  double encoder = 0;
  double frame_attention = 0;
  double global_attention = 0;
  double camera = 0;
  double depth = 0;
};

/// Bytes a session takes on its device.
struct MemoryPlan {
  std::size_t weights = 0;
  std::size_t cache_slots = 0;     ///< patches of scale frames and window, keys and values, all layers
  std::size_t per_kept_frame = 0;  ///< what each kept frame adds for ever (special tokens, camera head)
  std::size_t activations = 0;
  std::size_t workspace = 0;  ///< what products and attention work in
  std::size_t context = 0;    ///< what a GPU's driver and libraries take in every process, whatever it computes
};

/// One stream of frames through a model. Sessions are independent of each other and of the order in which they are
/// pushed. Not for use by two threads at once; different sessions may be pushed from different threads.
///
/// With a flow_threshold a frame sees the whole window beside itself, is then judged by its results, and is kept or
/// leaves no trace in any cache. Since the next frame may see it, the next one cannot begin before: submit() waits for
/// the results of the frame before it, and a device has one frame at a time.
class Session {
 public:
  /// Throws Error(usage) on impossible options, Error(unsupported) when the attention back end is not available.
  explicit Session(const Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Takes the next frame, already at the network's size (both sides multiples of the patch size; all frames of a
  /// session alike). Returns nothing while scale frames are gathered, then all of them at once, then one result a
  /// frame. Throws Error(usage) on a frame of another size.
  [[nodiscard]] std::vector<FrameResult> push(const Image& frame);
  /// push() without the wait: the frame is on its way when the call returns, and collect() brings its results. While
  /// one frame is computed, the next can be submitted, so that the device never waits for the host. Throws as push().
  void submit(const Image& frame);
  /// Waits for the oldest frame on its way and returns its results, which are empty for a gathered scale frame; empty
  /// too when none is on its way.
  [[nodiscard]] std::vector<FrameResult> collect();
  /// Frames submitted and not yet collected.
  [[nodiscard]] int in_flight() const noexcept;
  /// The result for a frame that leaves no trace: no counter and no cache changes. Throws Error(usage) before the scale
  /// pass is complete.
  [[nodiscard]] FrameResult query(const Image& frame);
  /// Ends the sequence: the scale frames gathered so far if there were fewer than asked for, else nothing. Afterwards
  /// the session takes no further frame.
  [[nodiscard]] std::vector<FrameResult> finish();
  /// Begins another sequence, of frames of the same size: the session is as it was when it was made, but keeps its
  /// memory on the device. Results that were not collected are lost.
  void reset();

  /// Writes all that the session is to a file, whose format is in docs/formats.md: the caches, the counters and the
  /// scale frames gathered so far. The file appears, or takes the place of an older one, when it is whole and on the
  /// disk; the session goes on unchanged. Its size is about cache_bytes(). With a `watch` over its results the file has
  /// the state of that, too, for CollapseWatch::restore(). Throws Error(usage) while frames are on their way (their
  /// results must be collected first), after finish() or a failed frame; Error(output).
  void save(const std::filesystem::path& path, const CollapseWatch* watch = nullptr) const;
  /// A session that goes on where the saved one was. `options` and the model's weights and dtype are those it was saved
  /// with; attention, graphs, profile and the device may be others. On the same kind of device, with the same
  /// attention, results are equal to the bit to those of a session that was never interrupted; elsewhere they differ by
  /// rounding. Times of stages begin anew. Throws Error(input) that names the file and what is damaged or differs:
  /// version, model, dtype or an option.
  [[nodiscard]] static Session restore(const Model& model, const SessionOptions& options,
                                       const std::filesystem::path& path);
  /// Frames pushed or submitted so far, gathered scale frames included, queries not.
  [[nodiscard]] std::int64_t frames_pushed() const noexcept;

  /// For measurements: leaves the cache as if `keyframes` more frames had been kept, with copies of what the last scale
  /// frame left there. Throws Error(usage) before the scale pass is complete, and with a flow_threshold.
  void prefill(std::int64_t keyframes);

  [[nodiscard]] CacheStats cache_stats() const;
  /// Bytes of device memory that cache and camera caches take now.
  [[nodiscard]] std::size_t cache_bytes() const;
  [[nodiscard]] const StageTimes& stage_times() const;
  /// The attention back end in use.
  [[nodiscard]] AttentionKind attention() const;
  /// The same with the kernels behind it, for people: "sdpa (cuDNN)".
  [[nodiscard]] std::string attention_description() const;

  /// What a session of these options takes for frames of width x height, without making one.
  [[nodiscard]] static MemoryPlan plan(const Model& model, const SessionOptions& options, int width, int height);

 private:
  friend class WindowedSession;  // whose saved state has that of a session in it
  void save(StateWriter& state) const;
  void restore(StateReader& state);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot_map
