#include "run_stages.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/message.hpp"
#include "pipeline.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::size_t kQueueCapacity = 4;

/// The windows that no cut can undo any more, when so many results were taken.
std::span<const WindowRecord> settled(std::span<const WindowRecord> windows, std::int64_t results) {
  const auto end = std::ranges::find_if(windows, [=](const auto& window) { return window.first_given >= results; });
  return windows.first(static_cast<std::size_t>(end - windows.begin()));
}

}  // namespace

RunStages::RunStages(const RunParts& parts, const SavedRun* from, RunReport& report)
    : parts_(parts),
      report_(report),
      earlier_stream_(report.seconds.stream),
      progress_(parts.console, report.expected_frames, report.counts.frames),
      windows_(parts.console),
      results_(report.counts.frames) {
  if (from == nullptr) return;
  earlier_stages_ = from->stages;
  earlier_seconds_ = from->seconds.total;
  last_ = from->position;
  decoded_ = from->seconds.decode;
  again_ = parts.stream.frames_pushed() - results_;
  windows_.remember(settled(parts.stream.windows(), results_));
}

void RunStages::run(std::stop_source& stop) {
  const Timed timed(report_.seconds.stream);
  watch_ = {};
  run_pipeline<TimedFrame, Step>({.produce = [&] { return read(stop); },
                                  .transform = [&](TimedFrame frame) { return compute(std::move(frame), stop); },
                                  .finish = [&] { return finish(stop); },
                                  .consume = [&](Step step) { write(std::move(step)); },
                                  .drain = [&] { return drain(); }},
                                 kQueueCapacity, stop);
  if (ended_) fail(ErrorCode::input, parts_.collapses.end());
}

StageTimes RunStages::stage_times() const {
  StageTimes stages = parts_.stream.stage_times();
  stages.encoder += earlier_stages_.encoder;
  stages.frame_attention += earlier_stages_.frame_attention;
  stages.global_attention += earlier_stages_.global_attention;
  stages.camera += earlier_stages_.camera;
  stages.depth += earlier_stages_.depth;
  return stages;
}

std::optional<TimedFrame> RunStages::read(const std::stop_source& stop) {
  auto frame = [&] {
    const Timed timed(report_.seconds.decode);
    return parts_.input.next();
  }();
  input_ended_ = !frame && !stop.stop_requested();
  if (!frame) return frame;
  frame->decode_seconds = report_.seconds.decode;
  if (parts_.sky) parts_.sky->begin(*frame);
  return frame;
}

std::vector<RunStages::Step> RunStages::compute(TimedFrame frame, std::stop_source& stop) {
  const Timed timed(report_.seconds.inference);
  std::vector<Step> steps;
  waiting_.push_back(std::move(frame));
  if (again_ > 0) {
    --again_;
    return steps;
  }
  broken_ = true;
  parts_.stream.submit(waiting_.back().source.image);
  // The device works on this frame while the one before it is taken, written, and the next one read.
  const bool due = parts_.saver.due(submitted());
  collect_all_but(due ? 0 : 1, steps);
  broken_ = false;
  if (due) save(steps);
  if (ended_) stop.request_stop();
  return steps;
}

std::vector<RunStages::Step> RunStages::drain() {
  const Timed timed(report_.seconds.inference);
  std::vector<Step> steps;
  if (again_ > 0 || ended_) return steps;  // all that the stream has is saved, or nothing more is wanted
  can_cut_ = !broken_;
  if (!broken_ && !input_ended_ && parts_.saver.worth_a_last_one(submitted())) {
    collect_all_but(0, steps);
    save(steps);
  }
  while (take(parts_.stream.drain(), steps)) {
  }
  return steps;
}

std::vector<RunStages::Step> RunStages::finish(const std::stop_source& stop) {
  const Timed timed(report_.seconds.inference);
  std::vector<Step> steps;
  if (ended_) return steps;
  if (again_ == 0) {
    while (take(parts_.stream.finish(), steps)) {
    }
  } else if (!stop.stop_requested()) {
    fail(ErrorCode::input, parts_.input.name(), ": ends ", again_,
         " frames before the one after which the run was saved; give the input that it was begun with");
  }
  return steps;
}

void RunStages::collect_all_but(int on_their_way, std::vector<Step>& steps) {
  while (parts_.stream.in_flight() > on_their_way) take(parts_.stream.collect(), steps);
}

bool RunStages::take(std::vector<FrameResult> results, std::vector<Step>& steps) {
  bool cut = false;
  for (FrameResult& result : results) {
    if (ended_ || cut) break;
    switch (parts_.collapses.judge(result, can_cut_)) {
      case CollapseReport::Verdict::take: pair_up(std::move(result), steps); break;
      case CollapseReport::Verdict::cut:
        parts_.stream.cut(result.index);
        cut = true;
        break;
      case CollapseReport::Verdict::end: ended_ = true; break;
    }
  }
  windows_.tell(settled(parts_.stream.windows(), results_));
  progress_.update(results_, parts_.stream.cache_stats().frame_count);
  return cut;
}

void RunStages::pair_up(FrameResult result, std::vector<Step>& steps) {
  check(!waiting_.empty(), "a result without a frame");
  TimedFrame& frame = waiting_.front();
  last_ = {frame.source.source_index, frame.timestamp, frame.source.name};
  decoded_ = frame.decode_seconds;
  if (parts_.sky) parts_.sky->begin(result, frame);
  steps.emplace_back(FrameOutcome{std::move(result), std::move(frame)});
  waiting_.pop_front();
  ++results_;
}

void RunStages::save(std::vector<Step>& steps) {
  if (results_ == 0 || ended_) return;  // scale frames: there is nothing to lose yet
  std::optional<SavePoint> place = parts_.saver.save_session(parts_.stream, parts_.collapses, results_);
  if (!place) return;
  place->position = last_;
  place->stages = stage_times();
  place->seconds = {.decode = decoded_,
                    .inference = report_.seconds.inference,
                    .stream = earlier_stream_ + watch_.seconds(),
                    .total = earlier_seconds_ + parts_.process.seconds()};
  steps.emplace_back(*std::move(place));
}

void RunStages::write(Step step) {
  if (const SavePoint* place = std::get_if<SavePoint>(&step)) {
    const Timed timed(report_.seconds.write);
    if (parts_.sky) report_.sky = parts_.sky->report();
    return parts_.saver.commit(*place, parts_.output, report_);
  }
  auto& [result, frame] = std::get<FrameOutcome>(step);
  if (parts_.sky) parts_.sky->apply(result, frame);
  const Timed timed(report_.seconds.write);
  parts_.saver.note(frame);
  const FrameType type = result.type;
  parts_.output.write(result, std::move(frame));
  report_.counts.add(type);
}

}  // namespace lingbot_map::tool
