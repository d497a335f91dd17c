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
/// Some results can only be written at the end: with --align_to all of them, since where they belong is known then; in
/// a run that is saved, those that cannot be cut in the middle (without_state()). Until then those formats that are
/// written frame by frame stand there, in the units that are known and without a voxel grid, and `network_units` beside
/// them holds what the network said. finish() fits the trajectory and writes all results anew from there, in a folder
/// `aligned.part` first; they then take the place of the first ones. So no more is in memory than a frame and the
/// poses, and a run that is killed, or whose trajectory does not fit, leaves its results, of which `lingbot-map export`
/// makes the others. A saved run goes on with `network_units`, from which the first files are written once more.
class RunOutput {
 public:
  /// Makes the folders; with a state(), goes on with the files that are there. `console` must outlive it. Throws
  /// Error(output), Error(input) for what --intrinsics and --align_to name.
  RunOutput(const RunOptions& options, Console& console, const JsonFields* state = nullptr);
  /// Takes the results in order. Throws Error(output).
  void write(const FrameResult& result, TimedFrame frame);
  /// Completes the files, with the windows of windowed mode, and aligns them if asked to. A saved run can go on
  /// afterwards. Throws Error(output), Error(input) where the trajectory does not fit.
  void finish(std::span<const WindowRecord> windows);
  /// Removes what only a run that goes on needs.
  void forget() noexcept;
  /// Where every file stands now.
  [[nodiscard]] WriterState state() const;
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
  void keep_until_the_end(const JsonFields* state);
  void take(const FrameResult& result, FrameMeta& meta);
  void write_again(const JsonFields& state);
  void align();
  void write_anew(std::span<const WindowRecord> windows);

  RunOptions options_;
  Console& console_;
  bool saved_;      ///< it can be gone on with
  bool rewritten_;  ///< results are written anew at the end
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
