#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "collapse_report.hpp"
#include "console.hpp"
#include "frame_stream.hpp"
#include "input_frames.hpp"
#include "progress.hpp"
#include "run_output.hpp"
#include "run_report.hpp"
#include "run_saver.hpp"
#include "saved_run.hpp"
#include "sky_masks.hpp"
#include "stopwatch.hpp"
#include "window_report.hpp"

namespace lingbot_map::tool {

/// What a run is made of when its first frame is read. Everything outlives the stages.
struct RunParts {
  InputFrames& input;
  FrameStream& stream;
  RunOutput& output;
  RunSaver& saver;
  SkyMasks* sky;  ///< null: no masks were asked for
  CollapseReport& collapses;
  Console& console;
  const Stopwatch& process;  ///< since the program was started
};

/// The way of a run's frames: a thread reads them, the caller's gives them to the network, a third one writes the
/// results. Counts and times go to the report.
class RunStages {
 public:
  /// `from`: what the run was resumed from, or null. Frames that the stream has and whose results it did not give yet
  /// are read again, since the files need them, and are not given to it.
  RunStages(const RunParts& parts, const SavedRun* from, RunReport& report);

  /// Runs to the end of the input, or until `stop` ends it. Throws what went wrong first, a jump that ends the run
  /// included, when all that came before is written.
  void run(std::stop_source& stop);
  /// Of all processes of the run.
  [[nodiscard]] StageTimes stage_times() const;

 private:
  /// A result and the frame that it is for.
  struct FrameOutcome {
    FrameResult result;
    TimedFrame frame;
  };
  /// What travels from the computing thread to the writing one.
  using Step = std::variant<FrameOutcome, SavePoint>;

  // ---- The reading thread. ----
  std::optional<TimedFrame> read(const std::stop_source& stop);

  // ---- The computing thread. ----
  std::vector<Step> compute(TimedFrame frame, std::stop_source& stop);
  std::vector<Step> drain();
  std::vector<Step> finish(const std::stop_source& stop);
  void collect_all_but(int on_their_way, std::vector<Step>& steps);
  /// Takes results up to one that jumped; whether the stream was cut there.
  bool take(std::vector<FrameResult> results, std::vector<Step>& steps);
  void pair_up(FrameResult result, std::vector<Step>& steps);
  void save(std::vector<Step>& steps);
  void tell_windows();
  /// Frames given to the stream since the run began.
  [[nodiscard]] std::int64_t submitted() const { return results_ + std::ssize(waiting_); }

  // ---- The writing thread. ----
  void write(Step step);

  RunParts parts_;
  RunReport& report_;
  StageTimes earlier_stages_;
  double earlier_seconds_ = 0;  ///< in all, of the processes before
  double earlier_stream_ = 0;   ///< of these, from first frame to last result
  Stopwatch watch_;
  Progress progress_;
  WindowReport windows_;
  std::deque<TimedFrame> waiting_;  ///< frames that the stream has and that have no result yet
  std::int64_t again_ = 0;          ///< frames that are to be read and that the stream has already
  std::int64_t results_;
  InputPosition last_;   ///< of the last frame that has a result
  double decoded_ = 0;   ///< seconds of reading up to that frame
  bool broken_ = false;  ///< a frame failed on its way through the network
  bool can_cut_ = true;  ///< the stream could compute frames again
  bool ended_ = false;   ///< a result jumped, and the run is to end before it
  std::atomic<bool> input_ended_ = false;
};

}  // namespace lingbot_map::tool
