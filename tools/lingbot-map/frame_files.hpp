#pragma once

#include <filesystem>
#include <span>

#include "export/result_writer.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map::tool {

/// What a run writes for its frames in one folder: what ResultWriter does, and if asked for
///
///     depth/frame_000000.png         16-bit gray, depth x 1000
///     depth_color/frame_000000.png
///     confidence/frame_000000.png    16-bit gray, confidence x 1000
///     confidence_color/frame_000000.png
///
/// Pictures of an earlier run are removed first, so that none of its frames is taken for one of this.
class FrameFiles {
 public:
  /// Makes the folders; with a state(), goes on with the files that are there. Throws Error(output).
  FrameFiles(const std::filesystem::path& folder, const ResultOptions& options, bool save_depth,
             const JsonFields* state = nullptr);
  /// Takes the results in order. Throws Error(output).
  void write(const FrameResult& result, const FrameMeta& meta);
  /// Completes the files; `windows` are those of windowed mode. Throws Error(output).
  void finish(std::span<const WindowRecord> windows = {}) { results_.finish(windows); }

  /// Where every file stands now.
  [[nodiscard]] WriterState state() const { return results_.state(); }
  [[nodiscard]] const ResultWriter& results() const noexcept { return results_; }

 private:
  void write_depth(const FrameResult& result) const;

  std::filesystem::path folder_;
  Units units_;
  bool save_depth_;
  ResultWriter results_;
};

}  // namespace lingbot_map::tool
