#include "run_plan.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "lingbot_map/device_info.hpp"
#include "run_options.hpp"

namespace lingbot_map::tool {
namespace {

void choose_interval(RunReport& report, std::optional<int> asked_for, Console& console) {
  int& interval = report.session.keyframe_interval;
  if (report.session.flow_threshold > 0) {
    console.info(message("keyframes: by flow, above ", report.session.flow_threshold, " pixels or after ",
                         report.session.max_non_keyframe_gap, " frames"));
  } else if (asked_for) {
    interval = *asked_for;
  } else if (report.windowed && !report.windowed->endless) {
    console.info("keyframe interval: 1, since no window grows beyond what the network was trained with");
  } else {
    interval = automatic_keyframe_interval(report.expected_frames);
    console.info(message(
        "keyframe interval: ", interval,
        report.expected_frames ? ", chosen for this number of frames" : ", since the number of frames is not known"));
  }
}

void tell_windows(const WindowedOptions& windowed, Console& console) {
  const auto [frames, overlap] = WindowedSession::extent(windowed);
  if (windowed.endless) {
    console.info(message("windows: one that lasts until the reconstruction jumps; a new one then begins with ", overlap,
                         " frames in common"));
    return;
  }
  const bool by_flow = windowed.session.flow_threshold > 0;
  console.info(message("windows: ", by_flow ? "at least " : "", frames, " frames each, ", by_flow ? "up to " : "",
                       overlap, " in common",
                       overlap == 0 ? ": without an overlap windows are not placed on each other" : ""));
}

/// What a video says of its length is an estimate: more frames may come. Of images some may be left out, at most.
bool frames_are_counted(const RunReport& report) { return report.options.video_path.empty(); }

}  // namespace

void choose_keyframes(RunReport& report, std::optional<int> interval, Console& console) {
  choose_interval(report, interval, console);
  if (!report.windowed) return;
  report.windowed->session = stream_options(report);
  tell_windows(*report.windowed, console);
}

SessionOptions stream_options(const RunReport& report) {
  SessionOptions options = report.session;
  if (frames_are_counted(report)) options.window = filled_part(options, report.expected_frames).window;
  return options;
}

PlannedRun planned_run(const RunReport& report, const Model& model) {
  const auto counted = frames_are_counted(report) ? report.expected_frames : std::nullopt;
  PlannedRun run{.session = filled_part(report.session, counted),
                 .width = report.width,
                 .height = report.height,
                 .frames = report.expected_frames,
                 .dtype = report.dtype,
                 .on_cpu = report.device == Device::cpu(),
                 .free_bytes = device_info(report.device).free_bytes};
  if (!report.windowed) return run;
  const WindowedOptions& windowed = *report.windowed;
  std::int64_t overlap = WindowedSession::extent(windowed).overlap;
  if (report.expected_frames) overlap = std::min(overlap, *report.expected_frames);
  run.held_bytes = common_frames_bytes(overlap, run.width, run.height, model.config().has_point_head, windowed.cuts);
  if (windowed.endless) return run;
  run.session.window = std::min(run.session.window, std::max(windowed.window_size - run.session.scale_frames, 1));
  run.most_kept = std::max(windowed.window_size, run.session.scale_frames);
  return run;
}

MemoryPlan memory_plan(const RunReport& report, const PlannedRun& run, const Model& model) {
  if (!report.windowed) return Session::plan(model, run.session, report.width, report.height);
  WindowedOptions windowed = *report.windowed;
  windowed.session = run.session;
  return WindowedSession::plan(model, windowed, report.width, report.height);
}

}  // namespace lingbot_map::tool
