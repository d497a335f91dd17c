#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "console.hpp"
#include "media/frame_source.hpp"
#include "run_options.hpp"
#include "sky/sky_mask.hpp"
#include "timestamps.hpp"

namespace lingbot_map::tool {

/// The sky of a frame.
struct FrameSky {
  SkyMask mask;
  bool reused = false;  ///< of an earlier run
  double seconds = 0;   ///< it took
};

/// A frame on its way through the program.
struct TimedFrame {
  SourceFrame source;
  double timestamp = 0;  ///< seconds
  /// Why the frames between the one before and this one were left out, a line each.
  std::vector<std::string> left_out{};
  double decode_seconds = 0;    ///< that reading took from the beginning up to this frame
  std::future<FrameSky> sky{};  ///< its mask, where that is made beside the reconstruction
};

/// The last frame that was used, to go on after it.
struct InputPosition {
  std::int64_t source_index = 0;
  double timestamp = 0;  ///< seconds
  std::string name;
};

/// The frames that a run was asked for, with their times: bad ones end it or are left out, as the options say. All
/// calls but stop() belong to one thread at a time.
class InputFrames {
 public:
  /// Opens the folder or video and prints its warnings. `console` must outlive it. Throws Error(input).
  InputFrames(const RunOptions& options, int image_size, Console& console);

  /// The next good frame; nothing at the end or after stop(). Throws Error(input) that names a frame that cannot be
  /// read, unless they are skipped, or has no time.
  std::optional<TimedFrame> next();
  /// Leaves out the frames up to this one, of which an earlier process left out `skipped`.
  void resume_after(const InputPosition& position, std::int64_t skipped);
  /// Ends the sequence. May be called from any thread.
  void stop() noexcept { source_->stop(); }
  /// Prints what the source came to know since its warnings were last printed.
  void tell_warnings();

  [[nodiscard]] std::optional<std::int64_t> expected() const { return source_->expected_frames(); }
  [[nodiscard]] int width() const noexcept { return source_->width(); }
  [[nodiscard]] int height() const noexcept { return source_->height(); }
  /// As FrameSource has them.
  [[nodiscard]] bool repeatable() const noexcept { return source_->repeatable(); }
  [[nodiscard]] std::string fingerprint() const { return source_->fingerprint(); }
  /// What messages call it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Frames left out because they could not be read.
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }

 private:
  std::string name_;
  bool skip_bad_frames_;
  std::unique_ptr<FrameSource> source_;
  Timestamps timestamps_;
  Console& console_;
  std::size_t told_warnings_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace lingbot_map::tool
