#include <unistd.h>

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
#include "export/json_file.hpp"
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
#include "stage_table.hpp"
#include "stopwatch.hpp"

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
  [[nodiscard]] PlannedRun planned_run() const;
  void stream();
  void run_stages(Session& session, RunOutput& output);
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
  std::optional<Model> model_;
  MemoryPlan plan_;
};

Run::Run(RunOptions options)
    : options_(std::move(options)),
      settings_(settle(options_)),
      console_(std::cerr, verbosity_of(options_), isatty(STDERR_FILENO) == 1) {
  report_.options = options_;
  report_.session = settings_.session;
  for (const std::string& note : options_.notes) console_.info(note);
}

void Run::execute() {
  open_input();
  load_model();
  choose_keyframe_interval();
  if (options_.plan) {
    print(plan_text(plan_, planned_run()));
    return;
  }
  require_memory(plan_, planned_run());
  stream();
}

/// Before the weights are read, which may take long: whatever is wrong with the input is said at once.
void Run::open_input() {
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
  report_.session.keyframe_interval =
      settings_.keyframe_interval.value_or(automatic_keyframe_interval(report_.expected_frames));
  if (!settings_.keyframe_interval)
    console_.info(message(
        "keyframe interval: ", report_.session.keyframe_interval,
        report_.expected_frames ? ", chosen for this number of frames" : ", since the number of frames is not known"));
  plan_ = Session::plan(*model_, filled_part(report_.session, report_.expected_frames), report_.width, report_.height);
}

PlannedRun Run::planned_run() const {
  return {.session = filled_part(report_.session, report_.expected_frames),
          .width = report_.width,
          .height = report_.height,
          .frames = report_.expected_frames,
          .dtype = report_.dtype,
          .free_bytes = device_info(report_.device).free_bytes};
}

void Run::stream() {
  Session session(*model_, report_.session);
  report_.attention = session.attention();
  console_.info(message("attention: ", session.attention_description()));
  RunOutput output(options_, console_);
  report_.units = output.units();
  if (report_.units.changed) console_.info("units: " + report_.units.text);
  if (!options_.intrinsics.empty()) console_.info("camera: known from " + options_.intrinsics);
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
      run_stages(session, output);
      if (interrupt_.happened()) status = RunStatus::interrupted;
      output.finish();
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
  if (options_.profile || report_.device == Device::cpu()) report_.stages = session.stage_times();
  report_.device_info = device_info(report_.device);
  report_.cache = session.cache_stats();
  report_.cache_bytes = session.cache_bytes();
  end(status, failure);
}

void Run::hash_checkpoint() {
  try {
    report_.sha256 = sha256_of_file(options_.model_path, stop_.get_token());
  } catch (const std::exception& error) {
    console_.warning(message("the SHA-256 of the checkpoint is missing: ", error.what()));
  }
}

void Run::run_stages(Session& session, RunOutput& output) {
  Progress progress(console_, report_.expected_frames);
  std::deque<TimedFrame> waiting;  // frames that were submitted and have no result yet
  std::int64_t results = 0;
  const auto pair_up = [&](std::vector<FrameResult> computed, std::vector<FrameOutcome>& outcomes) {
    for (FrameResult& result : computed) {
      outcomes.push_back({std::move(result), std::move(waiting.front())});
      waiting.pop_front();
      ++results;
    }
    progress.update(results, session.cache_stats().frame_count);
  };
  const auto collect_all_but = [&](int on_their_way) {
    std::vector<FrameOutcome> outcomes;
    while (session.in_flight() > on_their_way) pair_up(session.collect(), outcomes);
    return outcomes;
  };

  Stages<TimedFrame, FrameOutcome> stages;
  stages.produce = [&] {
    const Timed timed(report_.seconds.decode);
    return input_->next();
  };
  stages.transform = [&](TimedFrame frame) {
    const Timed timed(report_.seconds.inference);
    waiting.push_back(std::move(frame));
    session.submit(waiting.back().source.image);
    // The device works on this frame while the one before it is taken, written, and the next one read.
    return collect_all_but(1);
  };
  stages.drain = [&] {
    const Timed timed(report_.seconds.inference);
    return collect_all_but(0);
  };
  stages.finish = [&] {
    const Timed timed(report_.seconds.inference);
    std::vector<FrameOutcome> outcomes;
    pair_up(session.finish(), outcomes);
    return outcomes;
  };
  stages.consume = [&](FrameOutcome outcome) {
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
