#pragma once

#include <filesystem>

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
  /// Makes the folders. Throws Error(output).
  FrameFiles(const std::filesystem::path& folder, const ResultOptions& options, bool save_depth);
  /// Takes the results in order. Throws Error(output).
  void write(const FrameResult& result, const FrameMeta& meta);
  /// Completes the files. Throws Error(output).
  void finish() { results_.finish(); }

  [[nodiscard]] const ResultWriter& results() const noexcept { return results_; }

 private:
  void write_depth(const FrameResult& result) const;

  std::filesystem::path folder_;
  Units units_;
  bool save_depth_;
  ResultWriter results_;
};

/// Makes a folder for pictures PREFIX000000.png, ... and removes those of an earlier run. Throws Error(output).
void prepare_pictures(const std::filesystem::path& folder, std::string_view prefix);
/// The index with six digits or more.
[[nodiscard]] std::string six_digits(std::int64_t index);

}  // namespace lingbot_map::tool
