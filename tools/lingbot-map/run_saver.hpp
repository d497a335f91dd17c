#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint_folder.hpp"
#include "collapse_report.hpp"
#include "console.hpp"
#include "frame_stream.hpp"
#include "input_frames.hpp"
#include "lingbot_map/error.hpp"
#include "run_output.hpp"
#include "run_report.hpp"
#include "saved_run.hpp"

namespace lingbot_map::tool {

/// The place between two results at which a run is saved: the session has been saved as it was there. It travels to the
/// writing thread behind the results before it, where the files are then as they were there, too.
struct SavePoint {
  std::int64_t frames = 0;  ///< results before it
  InputPosition position;   ///< of the last frame before it
  StageTimes stages;
  RunReport::Seconds seconds;        ///< up to there, all but `write`
  nlohmann::ordered_json collapses;  ///< CollapseReport::state()
};

/// Saves a run every so many frames. One that cannot be saved (a full disk) goes on: a warning is told once, the state
/// saved before stays, and the next one is tried.
class RunSaver {
 public:
  /// `every`: frames; 0: never. `from`: what the run was resumed from, or null. Throws Error(output) when the folder
  /// cannot be made.
  RunSaver(const CheckpointFolder& folder, int every, nlohmann::ordered_json identity, Console& console,
           const SavedRun* from);

  // ---- The computing thread; frames are those that the stream was given. ----
  /// Whether the run should be saved after so many frames.
  [[nodiscard]] bool due(std::int64_t frames) const noexcept;
  /// Whether a run that ends early after so many frames should be saved there.
  [[nodiscard]] bool worth_a_last_one(std::int64_t frames) const noexcept {
    return every_ > 0 && frames > last_frames_;
  }
  /// Saves the session of a stream that gave so many results, and of which none is on its way, with the watch over
  /// them. Nothing if it cannot be written.
  [[nodiscard]] std::optional<SavePoint> save_session(const FrameStream& stream, const CollapseReport& collapses,
                                                      std::int64_t results);

  // ---- The writing thread. ----
  /// Takes note of the frames that were left out before this one.
  void note(const TimedFrame& frame);
  /// Completes the saved state: everything before that place has been written.
  void commit(const SavePoint& place, const RunOutput& output, const RunReport& report);

  /// Results before the last whole state, 0 if there is none. After the threads have ended.
  [[nodiscard]] std::int64_t saved_frames() const noexcept { return saved_frames_; }

 private:
  void warn(std::int64_t frames, const Error& error);

  CheckpointFolder folder_;
  int every_;
  nlohmann::ordered_json identity_;
  Console& console_;
  std::int64_t last_frames_ = 0;  ///< given to the stream when it was saved last
  std::int64_t saved_frames_ = 0;
  std::vector<std::string> left_out_;
  std::atomic<bool> warned_ = false;
};

}  // namespace lingbot_map::tool
