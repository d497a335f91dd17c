#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "alignment_target.hpp"
#include "console.hpp"
#include "export/known_cameras.hpp"
#include "export/predictions.hpp"
#include "frame_files.hpp"
#include "input_frames.hpp"
#include "lingbot_map/session.hpp"
#include "run_options.hpp"

namespace lingbot_map::tool {

/// Everything that a run writes for its frames: FrameFiles in the folder of --output, and in the folder of
/// --export_preprocessed 000000.png, ...: what the network saw.
///
/// With --align_to, where results belong is only known at the end. Until then those formats that are written frame by
/// frame stand there in the network's own units, and `network_units` beside them holds what the network said. finish()
/// fits the trajectory and writes all results anew from there, in a folder `aligned.part` first; they then take the
/// place of the first ones, and `network_units` is removed. So no more is in memory than a frame and the poses, and a
/// run that is killed, or whose trajectory does not fit, leaves its results, which `lingbot-map export` can align.
class RunOutput {
 public:
  /// Makes the folders; with a state(), goes on with the files that are there. `console` must outlive it. Throws
  /// Error(output), Error(input) for what --intrinsics and --align_to name.
  RunOutput(const RunOptions& options, Console& console, const JsonFields* state = nullptr);
  /// Takes the results in order. Throws Error(output).
  void write(const FrameResult& result, TimedFrame frame);
  /// Completes the files, with the windows of windowed mode, and aligns them if asked to. Throws Error(output),
  /// Error(input) where the trajectory does not fit.
  void finish(std::span<const WindowRecord> windows);
  /// Where every file stands now. Throws Error(usage) when something is written that has no state.
  [[nodiscard]] WriterState state() const { return files_->state(); }
  /// Waits until the disk has what was written, sky masks included. Throws Error(output).
  void sync() const;
  /// Completes the files after a failure, as far as that is possible.
  void close() noexcept;

  /// What the run wrote: after finish(), in the units asked for.
  [[nodiscard]] const ResultWriter& results() const noexcept { return files_->results(); }
  [[nodiscard]] const Units& units() const noexcept { return units_; }
  /// The alignment, once finish() made it.
  [[nodiscard]] const std::optional<TrajectoryFit>& fit() const noexcept { return fit_; }

 private:
  void align(std::span<const WindowRecord> windows);
  void write_aligned(std::span<const WindowRecord> windows);

  RunOptions options_;
  Console& console_;
  std::filesystem::path folder_;
  std::filesystem::path preprocessed_;  ///< empty: not asked for
  std::vector<std::filesystem::path> written_to_;
  std::optional<KnownCameras> cameras_;
  Units units_;
  std::optional<FrameFiles> files_;
  std::optional<AlignmentTarget> target_;
  std::optional<PredictionsWriter> network_units_;
  std::optional<TrajectoryFit> fit_;
  bool finishing_ = false;
};

}  // namespace lingbot_map::tool
