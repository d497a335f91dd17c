#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

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
#include "default_model.hpp"
#include "export/json_file.hpp"
#include "frame_stream.hpp"
#include "input_frames.hpp"
#include "interrupt.hpp"
#include "lingbot_map/device_info.hpp"
#include "memory_plan.hpp"
#include "process_memory.hpp"
#include "run_options.hpp"
#include "run_output.hpp"
#include "run_plan.hpp"
#include "run_report.hpp"
#include "run_saver.hpp"
#include "run_stages.hpp"
#include "saved_run.hpp"
#include "sky_masks.hpp"
#include "stage_table.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

Verbosity verbosity_of(const RunOptions& options) {
  if (options.quiet) return Verbosity::quiet;
  return options.verbose ? Verbosity::verbose : Verbosity::normal;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// One call of the command, from its options to its exit.
class Run {
 public:
  explicit Run(RunOptions options);
  void execute();

 private:
  void open_input();
  void find_saved_run();
  void load_model();
  void require_same_run_as_before();
  [[nodiscard]] std::unique_ptr<FrameStream> make_stream();
  [[nodiscard]] RunOutput make_output();
  void stream();
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
  CheckpointFolder checkpoints_;
  std::string saved_in_;                                   ///< the file that tells of the run to go on with
  std::optional<SavedRun> saved_;                          ///< that run
  std::optional<nlohmann::ordered_json> complete_before_;  ///< identity of a run that needs no more
  double earlier_seconds_ = 0;                             ///< in all, of the processes before
  std::optional<Model> model_;
};

Run::Run(RunOptions options)
    : options_(std::move(options)),
      settings_(settle(options_)),
      console_(std::cerr, verbosity_of(options_), isatty(STDERR_FILENO) == 1),
      checkpoints_(options_.output) {
  report_.options = options_;
  report_.session = settings_.session;
  report_.windowed = settings_.windowed;
  for (const std::string& note : options_.notes) console_.info(note);
}

void Run::execute() {
  open_input();
  if (options_.resume && !options_.plan) find_saved_run();
  load_model();
  choose_keyframes(report_, settings_.keyframe_interval, console_);
  const PlannedRun planned = planned_run(report_, *model_);
  const MemoryPlan memory = memory_plan(report_, planned, *model_);
  if (options_.plan) {
    print(plan_text(memory, planned));
    return;
  }
  if (options_.resume) require_same_run_as_before();
  if (complete_before_) {
    console_.info(message("the run in ", options_.output, " is complete: there is nothing to go on with"));
    return;
  }
  require_memory(memory, planned);
  stream();
}

/// Before the weights are read, which may take long: whatever is wrong with the input is said at once.
void Run::open_input() {
  const bool bundled = options_.model_path.empty();
  if (bundled) {
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
  if ((options_.resume || options_.checkpoint_every > 0) && !input_->repeatable())
    fail(ErrorCode::usage, options_.resume ? "--resume" : "--checkpoint_every", ": the frames of ", input_->name(),
         " do not come a second time, so that a run could go on with them; leave the flag out");
  report_.expected_frames = input_->expected();
  report_.input_fingerprint = input_->fingerprint();
  if (options_.mask_sky && !options_.plan) report_.sky = sky_.emplace(options_, console_).report();
  report_.width = input_->width();
  report_.height = input_->height();
  check_export_files(options_, report_.expected_frames);
  if (const auto cameras = options_.known_cameras()) report_.cameras_fingerprint = cameras->fingerprint();
  console_.info(message("input: ", report_.expected_frames ? message(*report_.expected_frames) : "an unknown number of",
                        " frames of ", report_.width, "x", report_.height));
  if (bundled && !settings_.windowed && report_.expected_frames.value_or(0) > kDefaultModelFrames)
    console_.warning(message("in one stream of more than some ", kDefaultModelFrames,
                             " frames the model that comes with the program drifts; --mode windowed is more exact"));
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

std::unique_ptr<FrameStream> Run::make_stream() {
  if (!saved_) return open_stream(*model_, stream_options(report_), report_.windowed);
  const std::filesystem::path file = checkpoints_.session_file(saved_->counts.frames);
  std::unique_ptr<FrameStream> stream = open_stream(*model_, stream_options(report_), report_.windowed, &file);
  if (stream->frames_given() != saved_->counts.frames)
    fail(ErrorCode::input, file.string(), ": has given ", stream->frames_given(), " frames, expected the ",
         saved_->counts.frames, " of ", saved_in_, "; begin the run anew");
  checkpoints_.keep_only(saved_->counts.frames);
  return stream;
}

RunOutput Run::make_output() {
  if (!saved_) {
    checkpoints_.clear();  // before the files that it belongs to
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(options_.output) / "run.json", ignored);
    return RunOutput(options_, console_);
  }
  const JsonFields state(saved_->output, saved_in_);
  RunOutput output(options_, console_, &state);
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
  const SavedRun* const from = saved_ ? &*saved_ : nullptr;
  const std::unique_ptr<FrameStream> stream = make_stream();
  report_.attention = stream->attention();
  console_.info(message("attention: ", stream->attention_description()));
  const nlohmann::ordered_json identity = identity_of(to_json(report_));
  if (from) {
    if (const std::string differences = numeric_differences(from->identity, identity); !differences.empty())
      console_.warning("from here on results may differ in their last bits: " + differences);
  }
  RunOutput output = make_output();
  report_.units = output.units();
  if (report_.units.changed) console_.info("units: " + report_.units.text);
  if (!options_.intrinsics.empty()) console_.info("camera: known from " + options_.intrinsics);
  if (sky_) sky_->start(report_.counts.frames, from && from->sky ? &*from->sky : nullptr);
  RunSaver saver(checkpoints_, options_.checkpoint_every, identity, console_, from);
  CollapseReport collapses(console_, on_collapse(options_.on_collapse),
                           report_.windowed ? WindowedSession::extent(*report_.windowed).overlap : 0);
  if (from) collapses.restore(JsonFields(from->collapses, saved_in_), checkpoints_.session_file(from->counts.frames));
  RunStages stages({.input = *input_,
                    .stream = *stream,
                    .output = output,
                    .saver = saver,
                    .sky = sky_ ? &*sky_ : nullptr,
                    .collapses = collapses,
                    .console = console_,
                    .process = total_},
                   from, report_);
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
      stages.run(stop_);
      if (report_.counts.frames == 0 && !interrupt_.happened())
        fail(ErrorCode::input, input_->name(), ": none of its ", input_->skipped(), " frames could be read");
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
  if (options_.profile || report_.device == Device::cpu()) report_.stages = stages.stage_times();
  report_.device_info = device_info(report_.device);
  report_.collapses = collapses.summary();
  report_.windows.assign(stream->windows().begin(), stream->windows().end());
  report_.cache = stream->cache_stats();
  report_.cache_bytes = stream->cache_bytes();
  if (status != RunStatus::complete && saver.saved_frames() > 0)
    console_.info(message("saved after ", saver.saved_frames(), " frames: --resume goes on from there"));
  end(status, failure);
  if (saver.saved_frames() > 0) output.sync();
  checkpoints_.clear();
  output.forget();
}

void Run::hash_checkpoint() {
  try {
    report_.sha256 = sha256_of_file(options_.model_path, stop_.get_token());
  } catch (const std::exception& error) {
    console_.warning(message("the SHA-256 of the checkpoint is missing: ", error.what()));
  }
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
                        rate_text(counts.frames, report_.seconds.stream), "), ", counts.scale_frames + counts.keyframes,
                        " kept; results in ", options_.output));
  if (options_.profile && report_.stages) print(stage_table(*report_.stages, report_.seconds.inference, counts.frames));
  if (status == RunStatus::interrupted) throw Interrupted{};
}

void Run::write_report() {
  report_.seconds.total = earlier_seconds_ + total_.seconds();
  if (sky_) report_.sky = sky_->report();
  report_.peak_memory_bytes = peak_resident_bytes();
  write_json(std::filesystem::path(options_.output) / "run.json", to_json(report_));
}

void prepare_demo(RunOptions& options) {
  if (options.output.empty()) options.output = demo_output(options);
  if (!options.mask_sky || !options.sky_model.empty()) return;
  constexpr const char* kPublicSkyModel = "skyseg.onnx";
  std::error_code ignored;
  const bool is_there = std::filesystem::is_regular_file(kPublicSkyModel, ignored);
  options.sky_model = is_there ? kPublicSkyModel : kBuiltinSky;
  options.notes.push_back(is_there
                              ? message("--mask_sky: by ", kPublicSkyModel, " of the current folder")
                              : message("--mask_sky: there is no ", kPublicSkyModel,
                                        " in the current folder, and nothing is fetched; by the built-in estimate"));
}

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("demo", "Takes the public demo's command line; what it showed comes as files.");
  const auto options = std::make_shared<RunOptions>();
  add_run_flags(*command, *options);
  command->callback([options] {
    prepare_demo(*options);
    Run(*options).execute();
  });
}

void add_run(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Camera poses, depth and a point cloud of a folder of images or a video.");
  const auto options = std::make_shared<RunOptions>();
  add_run_flags(*command, *options);
  command->callback([options] { Run(*options).execute(); });
}

}  // namespace lingbot_map::tool
