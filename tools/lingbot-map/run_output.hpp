#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "export/result_writer.hpp"
#include "input_frames.hpp"
#include "lingbot_map/session.hpp"
#include "run_options.hpp"

namespace lingbot_map::tool {

/// Everything that the run writes for its frames: what ResultWriter does, and if asked for
///
///     depth/frame_000000.png         16-bit gray, depth x 1000
///     depth_color/frame_000000.png
///     confidence/frame_000000.png    16-bit gray, confidence x 1000
///     confidence_color/frame_000000.png
///     and, in the folder of --export_preprocessed, 000000.png: what the network saw.
///
/// Pictures of an earlier run are removed first, so that none of its frames is taken for one of this.
class RunOutput {
 public:
  /// Makes the folders; with a state(), goes on with the files that are there. Throws Error(output).
  explicit RunOutput(const RunOptions& options, const JsonFields* state = nullptr);
  /// Takes the results in order. Throws Error(output).
  void write(const FrameResult& result, TimedFrame frame);
  /// Completes the files; `windows` are those of windowed mode. Throws Error(output).
  void finish(std::span<const WindowRecord> windows) { results_.finish(windows); }
  /// Where every file stands now.
  [[nodiscard]] WriterState state() const { return results_.state(); }
  /// Waits until the disk has what was written, sky masks included. Throws Error(output).
  void sync() const;

  [[nodiscard]] const ResultWriter& results() const noexcept { return results_; }

 private:
  void write_depth(const FrameResult& result) const;

  std::filesystem::path folder_;
  std::filesystem::path preprocessed_;  ///< empty: not asked for
  bool save_depth_;
  std::vector<std::filesystem::path> written_to_;
  ResultWriter results_;
};

}  // namespace lingbot_map::tool
