#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "choices.hpp"
#include "command.hpp"
#include "config/manifest.hpp"
#include "console.hpp"
#include "default_model.hpp"
#include "export/json_file.hpp"
#include "frame_stream.hpp"
#include "input_frames.hpp"
#include "interrupt.hpp"
#include "lingbot_map/device_info.hpp"
#include "memory_plan.hpp"
#include "pipeline.hpp"
#include "process_memory.hpp"
#include "progress.hpp"
#include "run_options.hpp"
#include "run_output.hpp"
#include "run_report.hpp"
#include "sky_masks.hpp"
#include "stage_table.hpp"
#include "stopwatch.hpp"
#include "window_report.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::size_t kQueueCapacity = 4;

Verbosity verbosity_of(const RunOptions& options) {
  if (options.quiet) return Verbosity::quiet;
  return options.verbose ? Verbosity::verbose : Verbosity::normal;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// A result and the frame that it is for.
struct FrameOutcome {
  FrameResult result;
  TimedFrame frame;
};

/// One call of the command, from its options to its exit.
class Run {
 public:
  explicit Run(RunOptions options);
  void execute();

 private:
  void open_input();
  void load_model();
  void choose_keyframe_interval();
  void plan_memory();
  [[nodiscard]] PlannedRun planned_run() const;
  void stream();
  void run_stages(FrameStream& stream, RunOutput& output);
  void hash_checkpoint();
  void end(RunStatus status, const std::exception_ptr& failure);
  void write_report();

  RunOptions options_;
  RunSettings settings_;
  Console console_;
  std::stop_source stop_;
  Interrupt interrupt_;  // before anything that starts a thread
  Stopwatch total_;
  RunReport report_;
  std::optional<InputFrames> input_;
  std::optional<SkyMasks> sky_;
  std::optional<Model> model_;
  MemoryPlan plan_;
};

Run::Run(RunOptions options)
    : options_(std::move(options)),
      settings_(settle(options_)),
      console_(std::cerr, verbosity_of(options_), isatty(STDERR_FILENO) == 1) {
  report_.options = options_;
  report_.session = settings_.session;
  report_.windowed = settings_.windowed;
  for (const std::string& note : options_.notes) console_.info(note);
}

void Run::execute() {
  open_input();
  load_model();
  choose_keyframe_interval();
  plan_memory();
  if (options_.plan) {
    print(plan_text(plan_, planned_run()));
    return;
  }
  require_memory(plan_, planned_run());
  stream();
}

/// Before the weights are read, which may take long: whatever is wrong with the input is said at once.
void Run::open_input() {
  if (options_.model_path.empty()) {
    options_.model_path = default_model().string();
    report_.options.model_path = options_.model_path;
    console_.info("model: " + options_.model_path + ", which comes with the program");
  }
  const std::unique_ptr<Checkpoint> checkpoint = Checkpoint::open(options_.model_path);
  report_.config = options_.config.empty() ? infer_config(*checkpoint) : infer_config(*checkpoint, options_.config);
  report_.checkpoint_format = checkpoint->format();
  if (!options_.config.empty()) settings_.model.config = report_.config;
  if (report_.config.patch_size != options_.patch_size)
    fail(ErrorCode::unsupported, options_.model_path, ": patch_size is ", report_.config.patch_size, ", expected ",
         options_.patch_size);

  report_.image_size = options_.image_size.value_or(report_.config.image_size);
  input_.emplace(options_, report_.image_size, console_);
  report_.expected_frames = input_->expected();
  if (options_.mask_sky && !options_.plan) sky_.emplace(options_, console_);
  report_.width = input_->width();
  report_.height = input_->height();
  check_export_files(options_, report_.expected_frames);
  console_.info(message("input: ", report_.expected_frames ? message(*report_.expected_frames) : "an unknown number of",
                        " frames of ", report_.width, "x", report_.height));
}

void Run::load_model() {
  const Stopwatch watch;
  model_ = Model::load(options_.model_path, settings_.model);
  report_.seconds.load = watch.seconds();
  report_.device = model_->device();
  report_.dtype = model_->dtype();
  report_.threads = model_->threads();
  report_.weight_bytes = model_->weight_bytes();
  report_.unexpected_tensors = model_->unexpected_tensors().size();
  report_.device_info = device_info(report_.device);
  console_.info(message("model: ", bytes_text(report_.weight_bytes), " of weights, ", name_of(report_.dtype), " on ",
                        device_text(report_.device),
                        report_.device == Device::cpu() ? message(" with ", report_.threads, " threads") : ""));
  if (report_.unexpected_tensors > 0)
    console_.info(message("model: ", report_.unexpected_tensors, " tensors of the file are not used",
                          options_.verbose ? "" : " (--verbose lists them)"));
  for (const std::string& name : model_->unexpected_tensors()) console_.detail("not used: " + printable(name));
}

void Run::choose_keyframe_interval() {
  int& interval = report_.session.keyframe_interval;
  if (report_.session.flow_threshold > 0) {
    console_.info(message("keyframes: by flow, above ", report_.session.flow_threshold, " pixels or after ",
                          report_.session.max_non_keyframe_gap, " frames"));
  } else if (settings_.keyframe_interval) {
    interval = *settings_.keyframe_interval;
  } else if (report_.windowed) {
    console_.info("keyframe interval: 1, since no window grows beyond what the network was trained with");
  } else {
    interval = automatic_keyframe_interval(report_.expected_frames);
    console_.info(message(
        "keyframe interval: ", interval,
        report_.expected_frames ? ", chosen for this number of frames" : ", since the number of frames is not known"));
  }
  if (!report_.windowed) return;
  report_.windowed->session = report_.session;
  const auto [frames, overlap] = WindowedSession::extent(*report_.windowed);
  const bool by_flow = report_.session.flow_threshold > 0;
  console_.info(message("windows: ", by_flow ? "at least " : "", frames, " frames each, ", by_flow ? "up to " : "",
                        overlap, " in common",
                        overlap == 0 ? ": without an overlap windows are not placed on each other" : ""));
}

void Run::plan_memory() {
  const SessionOptions session = planned_run().session;
  if (report_.windowed) {
    WindowedOptions windowed = *report_.windowed;
    windowed.session = session;
    plan_ = WindowedSession::plan(*model_, windowed, report_.width, report_.height);
  } else {
    plan_ = Session::plan(*model_, session, report_.width, report_.height);
  }
}

PlannedRun Run::planned_run() const {
  PlannedRun run{.session = filled_part(report_.session, report_.expected_frames),
                 .width = report_.width,
                 .height = report_.height,
                 .frames = report_.expected_frames,
                 .dtype = report_.dtype,
                 .on_cpu = report_.device == Device::cpu(),
                 .free_bytes = device_info(report_.device).free_bytes};
  if (report_.windowed) {
    const auto [frames, overlap] = WindowedSession::extent(*report_.windowed);
    const int keyframes = std::max(report_.windowed->window_size - run.session.scale_frames, 1);
    run.session.window = std::min(run.session.window, keyframes);
    run.most_kept = std::max(report_.windowed->window_size, run.session.scale_frames);
    run.held_bytes = common_frames_bytes(overlap, run.width, run.height, model_->config().has_point_head);
  }
  return run;
}

void Run::stream() {
  const std::unique_ptr<FrameStream> stream = open_stream(*model_, report_.session, report_.windowed);
  report_.attention = stream->attention();
  console_.info(message("attention: ", stream->attention_description()));
  RunOutput output(options_, console_);
  report_.units = output.units();
  if (report_.units.changed) console_.info("units: " + report_.units.text);
  if (!options_.intrinsics.empty()) console_.info("camera: known from " + options_.intrinsics);
  if (sky_) sky_->start();
  write_report();
  interrupt_.arm([this] {
    console_.info("interrupted: what was computed so far is being written; once more ends the program at once");
    stop_.request_stop();
  });
  const std::stop_callback stop_input(stop_.get_token(), [this] { input_->stop(); });

  RunStatus status = RunStatus::complete;
  std::exception_ptr failure;
  {
    const std::jthread hashing([this] { hash_checkpoint(); });
    try {
      run_stages(*stream, output);
      if (interrupt_.happened()) status = RunStatus::interrupted;
      output.finish(stream->windows());
      report_.units = output.units();
      report_.fit = output.fit();
    } catch (const std::exception& error) {
      status = RunStatus::failed;
      report_.error = error.what();
      failure = std::current_exception();
      stop_.request_stop();
      output.close();
    }
    console_.end_progress();
  }
  input_->tell_warnings();
  report_.counts.skipped = input_->skipped();
  for (const std::string& line : output.results().warnings()) console_.warning(line);
  if (const auto blind = output.results().frames_without_camera(); blind > 0)
    console_.warning(message(blind, " of ", report_.counts.frames,
                             " frames have no usable pose or field of view, and so no points"));
  if (options_.profile || report_.device == Device::cpu()) report_.stages = stream->stage_times();
  report_.device_info = device_info(report_.device);
  report_.windows.assign(stream->windows().begin(), stream->windows().end());
  report_.cache = stream->cache_stats();
  report_.cache_bytes = stream->cache_bytes();
  end(status, failure);
}

void Run::hash_checkpoint() {
  try {
    report_.sha256 = sha256_of_file(options_.model_path, stop_.get_token());
  } catch (const std::exception& error) {
    console_.warning(message("the SHA-256 of the checkpoint is missing: ", error.what()));
  }
}

void Run::run_stages(FrameStream& stream, RunOutput& output) {
  Progress progress(console_, report_.expected_frames);
  WindowReport windows(console_);
  std::deque<TimedFrame> waiting;  // frames that were submitted and have no result yet
  std::int64_t results = 0;
  const auto pair_up = [&](std::vector<FrameResult> computed, std::vector<FrameOutcome>& outcomes) {
    windows.tell(stream.windows());
    for (FrameResult& result : computed) {
      if (sky_) sky_->begin(result, waiting.front());
      outcomes.push_back({std::move(result), std::move(waiting.front())});
      waiting.pop_front();
      ++results;
    }
    progress.update(results, stream.cache_stats().frame_count);
  };
  const auto collect_all_but = [&](int on_their_way) {
    std::vector<FrameOutcome> outcomes;
    while (stream.in_flight() > on_their_way) pair_up(stream.collect(), outcomes);
    return outcomes;
  };

  Stages<TimedFrame, FrameOutcome> stages;
  stages.produce = [&] {
    auto frame = [&] {
      const Timed timed(report_.seconds.decode);
      return input_->next();
    }();
    if (frame && sky_) sky_->begin(*frame);
    return frame;
  };
  stages.transform = [&](TimedFrame frame) {
    const Timed timed(report_.seconds.inference);
    waiting.push_back(std::move(frame));
    stream.submit(waiting.back().source.image);
    // The device works on this frame while the one before it is taken, written, and the next one read.
    return collect_all_but(1);
  };
  stages.drain = [&] {
    const Timed timed(report_.seconds.inference);
    std::vector<FrameOutcome> outcomes;
    pair_up(stream.drain(), outcomes);
    return outcomes;
  };
  stages.finish = [&] {
    const Timed timed(report_.seconds.inference);
    std::vector<FrameOutcome> outcomes;
    pair_up(stream.finish(), outcomes);
    return outcomes;
  };
  stages.consume = [&](FrameOutcome outcome) {
    if (sky_) sky_->apply(outcome.result, outcome.frame);
    const Timed timed(report_.seconds.write);
    output.write(outcome.result, std::move(outcome.frame));
    report_.counts.add(outcome.result.type);
  };

  const Timed timed(report_.seconds.stream);
  run_pipeline(stages, kQueueCapacity, stop_);
  if (report_.counts.frames == 0 && !interrupt_.happened())
    fail(ErrorCode::input, input_->name(), ": none of its ", input_->skipped(), " frames could be read");
}

void Run::end(RunStatus status, const std::exception_ptr& failure) {
  report_.status = status;
  report_.warnings = console_.warnings();
  if (failure) {
    try {
      write_report();
    } catch (const Error&) {  // on a full disk: the failure itself says more
    }
    std::rethrow_exception(failure);
  }
  write_report();
  const RunReport::Counts& counts = report_.counts;
  console_.info(message(counts.frames, " frames in ", std::lround(report_.seconds.stream * 10) / 10.0, " s (",
                        rate_text(counts.frames, report_.seconds.stream), "), ", report_.cache.frame_count,
                        " kept; results in ", options_.output));
  if (options_.profile && report_.stages) print(stage_table(*report_.stages, report_.seconds.inference, counts.frames));
  if (status == RunStatus::interrupted) throw Interrupted{};
}

void Run::write_report() {
  report_.seconds.total = total_.seconds();
  if (sky_) report_.sky = sky_->report();
  report_.peak_memory_bytes = peak_resident_bytes();
  write_json(std::filesystem::path(options_.output) / "run.json", to_json(report_));
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Camera poses, depth and a point cloud of a folder of images or a video.");
  const auto options = std::make_shared<RunOptions>();
  add_run_flags(*command, *options);
  command->callback([options] { Run(*options).execute(); });
}

}  // namespace lingbot_map::tool
