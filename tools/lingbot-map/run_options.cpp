#include "run_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "alignment_target.hpp"
#include "base/message.hpp"
#include "choices.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kPatchSize = 14;
constexpr int kLargestImageSize = 16384;
constexpr std::int64_t kTrainedFrames = 320;

bool same_place(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, ignored);
}

void check_input(RunOptions& options) {
  if (options.image_folder.empty() && options.video_path.empty())
    fail(ErrorCode::usage, "no input: give --image_folder DIR or --video_path VIDEO");
  if (!options.image_folder.empty() && !options.video_path.empty()) {
    options.notes.emplace_back("--image_folder: ignored, because --video_path was given as well and wins");
    options.image_folder.clear();
  }
  if (!std::isfinite(options.fps) || options.fps <= 0)
    fail(ErrorCode::usage, "--fps: found ", options.fps, ", expected a positive number");
  if (options.first_k) require_at_least_one("--first_k", *options.first_k);
  require_at_least_one("--stride", options.stride);
  static_cast<void>(choice("--preprocess_mode", options.preprocess_mode, {"crop", "pad"}));
  if (options.patch_size != kPatchSize)
    fail(ErrorCode::usage, "--patch_size: found ", options.patch_size, ", expected ", kPatchSize,
         ", which the network was made for");
  if (options.image_size) {
    const int size = *options.image_size;
    if (size < 1 || size % kPatchSize != 0 || size > kLargestImageSize)
      fail(ErrorCode::usage, "--image_size: found ", size, ", expected a multiple of ", kPatchSize, " from ",
           kPatchSize, " to ", kLargestImageSize);
  }
}

void check_output(const RunOptions& options) {
  if (options.output.empty() && !options.plan)
    fail(ErrorCode::usage, "no output: give --output DIR, the folder for the results");
  for (const auto& [flag, folder] : {std::pair<std::string_view, const std::string&>{"--output", options.output},
                                     {"--export_preprocessed", options.export_preprocessed}})
    if (same_place(folder, options.image_folder))
      fail(ErrorCode::usage, flag, ": found ", folder, ", which is the folder of --image_folder; choose another");
  if (choice("--timestamps", options.timestamps, {"index", "name"}) == 1 && !options.video_path.empty())
    fail(ErrorCode::usage, "--timestamps: found \"name\", but the frames of a video have none; leave the flag out");
  check_export_options(options);
  if (options.quiet && options.verbose)
    fail(ErrorCode::usage, "--quiet and --verbose contradict each other; give one of them");
}

ModelOptions model_options(const RunOptions& options) {
  ModelOptions model;
  model.device = device_of(options.device);
  model.dtype = dtype_of(options.dtype);
  if (options.threads < 0)
    fail(ErrorCode::usage, "--threads: found ", options.threads, ", expected 1 or more, or 0 for one a processor");
  model.threads = options.threads;
  return model;
}

AttentionKind attention_kind(const RunOptions& options, const Device& device) {
  if (options.use_sdpa && options.backend == "flashinfer")
    fail(ErrorCode::usage, "--use_sdpa and --backend flashinfer contradict each other; give one of them");
  const AttentionKind kind = attention_of(options.backend, device);
  return options.use_sdpa ? AttentionKind::sdpa : kind;
}

std::optional<int> keyframe_interval(const std::string& text) {
  if (text == "auto") return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1)
    fail(ErrorCode::usage, "--keyframe_interval: found \"", text, "\", expected auto or a number of 1 or more");
  return value;
}

SessionOptions session_options(const RunOptions& options, const Device& device) {
  require_at_least_one("--num_scale_frames", options.num_scale_frames);
  require_at_least_one("--kv_cache_sliding_window", options.kv_cache_sliding_window);
  require_at_least_one("--camera_num_iterations", options.camera_num_iterations);
  SessionOptions session;
  session.scale_frames = options.num_scale_frames;
  session.window = options.kv_cache_sliding_window;
  session.camera_iterations = options.camera_num_iterations;
  session.attention = attention_kind(options, device);
  session.graphs = !options.no_graphs;
  session.profile = options.profile;
  return session;
}

}  // namespace

RunSettings settle(RunOptions& options) {
  RunSettings settings;
  check_input(options);
  check_output(options);
  settings.model = model_options(options);
  settings.session = session_options(options, settings.model.device);
  settings.keyframe_interval = keyframe_interval(options.keyframe_interval);
  if (choice("--mode", options.mode, {"streaming", "windowed"}) == 1)
    fail(ErrorCode::unsupported, "--mode: windowed is not there yet; use streaming");
  if (!options.not_there_yet.empty()) fail(ErrorCode::unsupported, options.not_there_yet.front());
  return settings;
}

void check_export_files(const RunOptions& options, std::optional<std::int64_t> expected_frames) {
  if (!options.align_to.empty()) static_cast<void>(AlignmentTarget(options.align_to, options.max_time_difference));
  const auto cameras = options.known_cameras();
  // A video's number of frames is an estimate, and of bad frames there is no camera.
  const bool exact = expected_frames && options.video_path.empty() && !options.skip_bad_frames;
  if (cameras && exact && cameras->frames().value_or(*expected_frames) < *expected_frames)
    fail(ErrorCode::input, options.intrinsics, ": found cameras for ", *cameras->frames(),
         " frames, expected one for each of ", *expected_frames);
}

int automatic_keyframe_interval(std::optional<std::int64_t> frames) {
  if (!frames || *frames <= kTrainedFrames) return 1;
  const std::int64_t interval = (*frames - 1) / kTrainedFrames + 1;
  return static_cast<int>(std::min<std::int64_t>(interval, std::numeric_limits<int>::max()));
}

}  // namespace lingbot_map::tool
