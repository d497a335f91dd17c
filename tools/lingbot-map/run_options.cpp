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
#include "collapse_report.hpp"

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
  if (options.checkpoint_every < 0)
    fail(ErrorCode::usage, "--checkpoint_every: found ", options.checkpoint_every, ", expected a number of frames");
  if (options.quiet && options.verbose)
    fail(ErrorCode::usage, "--quiet and --verbose contradict each other; give one of them");
}

void check_sky_folder(std::string_view flag, const std::string& folder, const RunOptions& options) {
  if (same_place(folder, options.image_folder))
    fail(ErrorCode::usage, flag, ": found ", folder, ", which is the folder of --image_folder; choose another");
}

/// Also fills in the folder of masks.
void check_sky(RunOptions& options) {
  if (!options.mask_sky) {
    if (!options.sky_model.empty())
      fail(ErrorCode::usage, "--sky_model: found without --mask_sky, which turns sky masks on; give both or none");
    for (const auto& [flag, folder] :
         {std::pair<std::string_view, const std::string&>{"--sky_mask_dir", options.sky_mask_dir},
          {"--sky_mask_visualization_dir", options.sky_mask_visualization_dir}})
      if (!folder.empty()) options.notes.push_back(message(flag, ": changes nothing without --mask_sky"));
    return;
  }
  if (options.sky_model.empty()) fail(ErrorCode::usage, "--mask_sky: no sky model; ", kSkyModelHint);
  if (options.sky_mask_dir.empty()) options.sky_mask_dir = (fs::path(options.output) / "sky_masks").string();
  check_sky_folder("--sky_mask_dir", options.sky_mask_dir, options);
  check_sky_folder("--sky_mask_visualization_dir", options.sky_mask_visualization_dir, options);
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
  if (!std::isfinite(options.flow_threshold) || options.flow_threshold < 0)
    fail(ErrorCode::usage, "--flow_threshold: found ", options.flow_threshold, ", expected a number of pixels, or 0");
  if (options.max_non_keyframe_gap) require_at_least_one("--max_non_keyframe_gap", *options.max_non_keyframe_gap);
  SessionOptions session;
  session.scale_frames = options.num_scale_frames;
  session.window = options.kv_cache_sliding_window;
  session.flow_threshold = options.flow_threshold;
  session.max_non_keyframe_gap = options.max_non_keyframe_gap.value_or(session.max_non_keyframe_gap);
  session.camera_iterations = options.camera_num_iterations;
  static_cast<void>(on_collapse(options.on_collapse));
  session.trajectory_memory = !options.no_trajectory_memory;
  session.attention = attention_kind(options, device);
  session.graphs = !options.no_graphs;
  session.profile = options.profile;
  return session;
}

/// Flags that are there and have no effect are told, since the public demo takes them in silence.
void note_without_effect(RunOptions& options, const RunSettings& settings) {
  const auto note = [&options](const auto& given, std::string_view flag, std::string_view why) {
    if (given) options.notes.push_back(message(flag, ": ", why));
  };
  if (!settings.windowed || settings.windowed->endless)
    note(options.window_size, "--window_size", "changes nothing without --mode windowed");
  if (!settings.windowed) {
    constexpr std::string_view kWhy = "changes nothing without --mode windowed or --on_collapse reset";
    note(options.overlap_size, "--overlap_size", kWhy);
    note(options.overlap_keyframes, "--overlap_keyframes", kWhy);
    note(options.window_alignment, "--window_alignment", kWhy);
  } else if (options.overlap_keyframes) {
    note(options.overlap_size, "--overlap_size", "ignored, because --overlap_keyframes was given as well and wins");
  }
  if (options.flow_threshold == 0)
    note(options.max_non_keyframe_gap, "--max_non_keyframe_gap", "changes nothing without --flow_threshold");
}

}  // namespace

std::string demo_output(const RunOptions& options) {
  constexpr const char* kEnd = "_lingbot_map";
  const bool is_file = options.video_path.empty() || fs::path(options.video_path).has_extension();
  const bool is_url = options.video_path.find("://") != std::string::npos;
  if (is_url || !is_file) return std::string("video") + kEnd;
  if (!options.video_path.empty()) return fs::path(options.video_path).replace_extension().string() + kEnd;
  fs::path folder = fs::path(options.image_folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder.string() + kEnd;
}

RunSettings settle(RunOptions& options) {
  RunSettings settings;
  check_input(options);
  check_output(options);
  check_sky(options);
  settings.model = model_options(options);
  settings.session = session_options(options, settings.model.device);
  settings.keyframe_interval = keyframe_interval(options.keyframe_interval);
  if (options.flow_threshold > 0 && settings.keyframe_interval)
    fail(ErrorCode::usage, "--flow_threshold and --keyframe_interval contradict each other; give one of them");
  const bool windowed = choice("--mode", options.mode, {"streaming", "windowed"}) == 1;
  const bool cuts = on_collapse(options.on_collapse) == OnCollapse::reset;
  if (windowed || cuts) {
    WindowedOptions windows{.session = settings.session, .cuts = cuts, .endless = !windowed};
    windows.session.keyframe_interval = settings.keyframe_interval.value_or(1);
    settings.windowed = windowed_options(options, windows);
  }
  note_without_effect(options, settings);
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
