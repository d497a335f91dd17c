#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "alignment_target.hpp"
#include "collapse_report.hpp"
#include "lingbot_map/device_info.hpp"
#include "lingbot_map/session.hpp"
#include "run_options.hpp"
#include "sky_masks.hpp"

namespace lingbot_map::tool {

/// "2025-01-31T23:59:59Z"
[[nodiscard]] std::string utc_now();

/// How a run ended. A report that still says `running` is of a run that was killed, or of one that goes on.
enum class RunStatus { running, complete, interrupted, failed };
[[nodiscard]] std::string_view name_of(RunStatus status) noexcept;

/// All that run.json tells. Members are filled as the run learns them.
struct RunReport {
  RunStatus status = RunStatus::running;
  std::string error;
  std::string start = utc_now();  ///< of the first process, if it was resumed

  RunOptions options;
  SessionOptions session;                       ///< the effective ones
  std::optional<WindowedOptions> windowed;      ///< set in windowed mode, and where a stream may be cut
  int image_size = 0;                           ///< the effective one
  std::optional<std::int64_t> expected_frames;  ///< before the first frame was read
  std::string input_fingerprint;
  std::string cameras_fingerprint;  ///< of --intrinsics; empty: the network's
  int width = 0;                    ///< pixels of the network's input
  int height = 0;

  std::string checkpoint_format;
  std::string model_fingerprint;
  std::optional<std::string> sha256;  ///< of the checkpoint; unset if not computed to the end
  Config config;
  Device device;
  DeviceInfo device_info;  ///< at the end of the run
  DType dtype = DType::f32;
  int threads = 0;
  AttentionKind attention = AttentionKind::automatic;
  std::size_t weight_bytes = 0;
  std::size_t unexpected_tensors = 0;

  Units units;                       ///< that results are written in
  std::optional<TrajectoryFit> fit;  ///< of --align_to, at the end

  struct Counts {
    std::int64_t frames = 0;  ///< results written
    std::int64_t scale_frames = 0;
    std::int64_t keyframes = 0;
    std::int64_t non_keyframes = 0;
    std::int64_t skipped = 0;  ///< frames that could not be read

    void add(FrameType type);
  } counts;

  /// Reading, inference and writing overlap: their sum may exceed the total.
  struct Seconds {
    double load = 0;       ///< checkpoint
    double decode = 0;     ///< reading and preprocessing frames
    double inference = 0;  ///< push and finish
    double write = 0;
    double stream = 0;  ///< from the first frame to the last result
    double total = 0;
  } seconds;
  std::optional<StageTimes> stages;   ///< unset: not measured
  std::optional<SkyReport> sky;       ///< unset: no masks were asked for
  std::vector<WindowRecord> windows;  ///< where `windowed` is set
  CollapseSummary collapses;          ///< jumps of the reconstruction
  CacheStats cache;
  std::size_t cache_bytes = 0;
  std::size_t peak_memory_bytes = 0;
  std::vector<std::string> warnings;
};

[[nodiscard]] nlohmann::ordered_json to_json(const RunReport& report);

}  // namespace lingbot_map::tool
