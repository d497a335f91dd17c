#include <unistd.h>

#include <atomic>
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
#include <variant>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint_folder.hpp"
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
#include "run_saver.hpp"
#include "saved_run.hpp"
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

/// What travels from the computing thread to the writing one.
using Step = std::variant<FrameOutcome, Cut>;

/// One call of the command, from its options to its exit.
class Run {
 public:
  explicit Run(RunOptions options);
  void execute();

 private:
  void open_input();
  void find_saved_run();
  void load_model();
  void choose_keyframe_interval();
  [[nodiscard]] PlannedRun planned_run() const;
  void require_same_run_as_before();
  [[nodiscard]] Session make_session();
  [[nodiscard]] RunOutput make_output();
  void stream();
  void run_stages(Session& session, RunOutput& output, RunSaver& saver);
  [[nodiscard]] StageTimes all_stages(const Session& session) const;
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
  CheckpointFolder checkpoints_;
  std::string saved_in_;                                   ///< the file that tells of the run to go on with
  std::optional<SavedRun> saved_;                          ///< that run
  std::optional<nlohmann::ordered_json> complete_before_;  ///< identity of a run that needs no more
  double earlier_seconds_ = 0;                             ///< in all, of the processes before
  std::optional<Model> model_;
  MemoryPlan plan_;
};

Run::Run(RunOptions options)
    : options_(std::move(options)),
      settings_(settle(options_)),
      console_(std::cerr, verbosity_of(options_), isatty(STDERR_FILENO) == 1),
      checkpoints_(options_.output) {
  report_.options = options_;
  report_.session = settings_.session;
  for (const std::string& note : options_.notes) console_.info(note);
}

void Run::execute() {
  open_input();
  if (options_.resume && !options_.plan) find_saved_run();
  load_model();
  choose_keyframe_interval();
  if (options_.plan) {
    print(plan_text(plan_, planned_run()));
    return;
  }
  if (options_.resume) require_same_run_as_before();
  if (complete_before_) {
    console_.info(message("the run in ", options_.output, " is complete: there is nothing to go on with"));
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
  if ((options_.resume || options_.checkpoint_every > 0) && !input_->repeatable())
    fail(ErrorCode::usage, options_.resume ? "--resume" : "--checkpoint_every", ": the frames of ", input_->name(),
         " do not come a second time, so that a run could go on with them; leave the flag out");
  report_.expected_frames = input_->expected();
  report_.input_fingerprint = input_->fingerprint();
  report_.width = input_->width();
  report_.height = input_->height();
  console_.info(message("input: ", report_.expected_frames ? message(*report_.expected_frames) : "an unknown number of",
                        " frames of ", report_.width, "x", report_.height));
}

void Run::find_saved_run() {
  const std::filesystem::path report_file = std::filesystem::path(options_.output) / "run.json";
  std::error_code ignored;
  if (std::filesystem::exists(report_file, ignored)) {
    const JsonFields earlier =
        JsonFields::parse(read_text_file(report_file, std::size_t{1} << 30), report_file.string());
    if (earlier.text("status") == name_of(RunStatus::complete)) {
      saved_in_ = report_file.string();
      complete_before_ = identity_of(earlier.json());
      return;
    }
  }
  const std::optional<JsonFields> fields = checkpoints_.read_run();
  if (!fields)
    fail(ErrorCode::input, "--resume: ", options_.output,
         " holds no saved run; begin one without --resume and with --checkpoint_every N");
  saved_in_ = fields->source();
  saved_ = saved_run_of(*fields);
}

/// Before anything is touched.
void Run::require_same_run_as_before() {
  require_same_run(saved_ ? saved_->identity : *complete_before_, identity_of(to_json(report_)), saved_in_);
}

void Run::load_model() {
  const Stopwatch watch;
  model_ = Model::load(options_.model_path, settings_.model);
  report_.seconds.load = watch.seconds();
  report_.device = model_->device();
  report_.dtype = model_->dtype();
  report_.model_fingerprint = model_->fingerprint();
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

Session Run::make_session() {
  if (!saved_) return Session(*model_, report_.session);
  const std::filesystem::path file = checkpoints_.session_file(saved_->counts.frames);
  Session session = Session::restore(*model_, report_.session, file);
  if (session.frames_pushed() != saved_->counts.frames)
    fail(ErrorCode::input, file.string(), ": has ", session.frames_pushed(), " frames, expected the ",
         saved_->counts.frames, " of ", saved_in_, "; begin the run anew");
  checkpoints_.keep_only(saved_->counts.frames);
  return session;
}

RunOutput Run::make_output() {
  if (!saved_) {
    checkpoints_.clear();  // before the files that it belongs to
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(options_.output) / "run.json", ignored);
    return RunOutput(options_);
  }
  const JsonFields state(saved_->output, saved_in_);
  RunOutput output(options_, &state);
  if (output.results().frames() != saved_->counts.frames)
    fail(ErrorCode::input, saved_in_, ": has files of ", output.results().frames(), " frames, expected ",
         saved_->counts.frames, "; begin the run anew");
  input_->resume_after(saved_->position, static_cast<std::int64_t>(saved_->left_out.size()));
  for (const std::string& line : saved_->left_out) console_.remember_warning(line);
  report_.start = saved_->start;
  report_.counts = saved_->counts;
  const double load = report_.seconds.load;
  report_.seconds = saved_->seconds;
  report_.seconds.load = load;
  earlier_seconds_ = saved_->seconds.total;
  console_.info(message("going on after ", saved_->counts.frames, " frames"));
  return output;
}

void Run::stream() {
  Session session = make_session();
  report_.attention = session.attention();
  console_.info(message("attention: ", session.attention_description()));
  const nlohmann::ordered_json identity = identity_of(to_json(report_));
  if (saved_) {
    if (const std::string differences = numeric_differences(saved_->identity, identity); !differences.empty())
      console_.warning("from here on results may differ in their last bits: " + differences);
  }
  RunOutput output = make_output();
  RunSaver saver(checkpoints_, options_.checkpoint_every, identity, console_, saved_ ? &*saved_ : nullptr);
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
      run_stages(session, output, saver);
      if (interrupt_.happened()) status = RunStatus::interrupted;
      output.finish();
    } catch (const std::exception& error) {
      status = RunStatus::failed;
      report_.error = error.what();
      failure = std::current_exception();
      stop_.request_stop();
    }
    console_.end_progress();
  }
  input_->tell_warnings();
  report_.counts.skipped = input_->skipped();
  if (const auto blind = output.results().frames_without_camera(); blind > 0)
    console_.warning(message(blind, " of ", report_.counts.frames,
                             " frames have no usable pose or field of view, and so no points"));
  if (options_.profile || report_.device == Device::cpu()) report_.stages = all_stages(session);
  report_.device_info = device_info(report_.device);
  report_.cache = session.cache_stats();
  report_.cache_bytes = session.cache_bytes();
  if (status != RunStatus::complete && saver.saved_frames() > 0)
    console_.info(message("saved after ", saver.saved_frames(), " frames: --resume goes on from there"));
  end(status, failure);
  if (saver.saved_frames() > 0) output.sync();
  checkpoints_.clear();
}

void Run::hash_checkpoint() {
  try {
    report_.sha256 = sha256_of_file(options_.model_path, stop_.get_token());
  } catch (const std::exception& error) {
    console_.warning(message("the SHA-256 of the checkpoint is missing: ", error.what()));
  }
}

StageTimes Run::all_stages(const Session& session) const {
  StageTimes stages = session.stage_times();
  if (saved_) {
    stages.encoder += saved_->stages.encoder;
    stages.frame_attention += saved_->stages.frame_attention;
    stages.global_attention += saved_->stages.global_attention;
    stages.camera += saved_->stages.camera;
    stages.depth += saved_->stages.depth;
  }
  return stages;
}

void Run::run_stages(Session& session, RunOutput& output, RunSaver& saver) {
  const std::int64_t first = report_.counts.frames;
  Progress progress(console_, report_.expected_frames, first);
  std::deque<TimedFrame> waiting;  // frames that were submitted and have no result yet
  std::int64_t results = first;
  Cut here;  // the last frame that has a result
  const auto pair_up = [&](std::vector<FrameResult> computed, std::vector<Step>& outcomes) {
    for (FrameResult& result : computed) {
      TimedFrame& frame = waiting.front();
      here.position = {frame.source.source_index, frame.timestamp, frame.source.name};
      here.seconds.decode = frame.decode_seconds;
      outcomes.emplace_back(FrameOutcome{std::move(result), std::move(frame)});
      waiting.pop_front();
      ++results;
    }
    progress.update(results, session.cache_stats().frame_count);
  };
  const auto collect_all_but = [&](int on_their_way) {
    std::vector<Step> outcomes;
    while (session.in_flight() > on_their_way) pair_up(session.collect(), outcomes);
    return outcomes;
  };
  const Stopwatch watch;
  const double earlier_stream = report_.seconds.stream;
  const auto cut_here = [&](std::vector<Step>& outcomes) {
    if (!waiting.empty()) return;  // scale frames: there is nothing to lose yet
    std::optional<Cut> cut = saver.save_session(session, results);
    if (!cut) return;
    cut->position = here.position;
    cut->stages = all_stages(session);
    cut->seconds = {.decode = here.seconds.decode,
                    .inference = report_.seconds.inference,
                    .stream = earlier_stream + watch.seconds(),
                    .total = earlier_seconds_ + total_.seconds()};
    outcomes.emplace_back(*std::move(cut));
  };
  std::atomic<bool> input_ended = false;

  Stages<TimedFrame, Step> stages;
  stages.produce = [&] {
    std::optional<TimedFrame> frame;
    {
      const Timed timed(report_.seconds.decode);
      frame = input_->next();
    }
    if (frame) frame->decode_seconds = report_.seconds.decode;
    input_ended = !frame && !stop_.stop_requested();
    return frame;
  };
  stages.transform = [&](TimedFrame frame) {
    const Timed timed(report_.seconds.inference);
    waiting.push_back(std::move(frame));
    session.submit(waiting.back().source.image);
    // The device works on this frame while the one before it is taken, written, and the next one read.
    if (!saver.due(results + static_cast<std::int64_t>(waiting.size()))) return collect_all_but(1);
    std::vector<Step> outcomes = collect_all_but(0);
    cut_here(outcomes);
    return outcomes;
  };
  stages.drain = [&] {
    const Timed timed(report_.seconds.inference);
    std::vector<Step> outcomes = collect_all_but(0);
    if (!input_ended && saver.worth_a_last_one(results)) cut_here(outcomes);
    return outcomes;
  };
  stages.finish = [&] {
    const Timed timed(report_.seconds.inference);
    std::vector<Step> outcomes;
    pair_up(session.finish(), outcomes);
    return outcomes;
  };
  stages.consume = [&](Step step) {
    const Timed timed(report_.seconds.write);
    if (const Cut* cut = std::get_if<Cut>(&step)) return saver.commit(*cut, output, report_);
    auto& outcome = std::get<FrameOutcome>(step);
    saver.note(outcome.frame);
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
  report_.seconds.total = earlier_seconds_ + total_.seconds();
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
