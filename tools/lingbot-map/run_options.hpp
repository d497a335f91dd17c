#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export_options.hpp"
#include "lingbot_map/model.hpp"
#include "lingbot_map/session.hpp"
#include "lingbot_map/windowed_session.hpp"
#include "window_flags.hpp"

namespace lingbot_map::tool {

/// What --sky_model says in place of a file.
inline constexpr std::string_view kBuiltinSky = "builtin";
/// How to get a sky model, for messages.
inline constexpr std::string_view kSkyModelHint =
    "give --sky_model FILE, the public network skyseg.onnx (JianyuanWang/skyseg on Hugging Face), or "
    "--sky_model builtin, an estimate that needs no file";

/// What `lingbot-map run` was asked for, as the command line has it. Names, meanings and defaults are the public demo's
/// where it has the flag. The points and files that results become are ExportOptions',
/// windows WindowFlags'.
struct RunOptions : ExportOptions, WindowFlags {
  // Input.
  std::string image_folder;  ///< this or video_path
  std::string video_path;    ///< a file, a camera number or a URL; wins over image_folder
  double fps = 10;           ///< frames a second taken from a video; what an image's index is divided by for its time
  std::optional<int> first_k;
  int stride = 1;
  bool rotate_clockwise_90 = false;
  std::string preprocess_mode = "crop";
  std::optional<int> image_size;  ///< unset: the model configuration's
  int patch_size = 14;
  bool skip_bad_frames = false;

  // Model and cache.
  std::string model_path;  ///< empty: the one that comes with the program
  std::string config;      ///< "official", "tiny" or a JSON file; empty: from the checkpoint
  std::string mode = "streaming";
  int num_scale_frames = 8;
  std::string keyframe_interval = "auto";  ///< or a positive number
  int kv_cache_sliding_window = 64;
  double flow_threshold = 0;                ///< above 0: frames are kept by flow
  std::optional<int> max_non_keyframe_gap;  ///< unset: 100
  int camera_num_iterations = 4;
  bool no_trajectory_memory = false;
  std::string on_collapse = "warn";  ///< or "reset", "stop"
  std::string backend = "auto";
  bool use_sdpa = false;
  std::string device = "auto";
  std::string dtype = "auto";
  int threads = 0;
  bool no_graphs = false;

  // Sky.
  bool mask_sky = false;
  std::string sky_model;     ///< an ONNX file, or kBuiltinSky
  std::string sky_mask_dir;  ///< empty: `sky_masks` in `output`
  std::string sky_mask_visualization_dir;

  // Output.
  std::string output;
  std::string timestamps = "index";
  bool save_predictions = false;  ///< the format npz beside the others
  bool save_depth = false;
  std::string export_preprocessed;
  int checkpoint_every = 0;  ///< frames; 0: never
  bool resume = false;
  bool plan = false;
  bool profile = false;
  bool quiet = false;
  bool verbose = false;

  /// Flags of the public demo that were given and change nothing here: one line each, which says why.
  std::vector<std::string> notes;
};

/// The options in the library's terms.
struct RunSettings {
  ModelOptions model;
  SessionOptions session;
  std::optional<int> keyframe_interval;  ///< unset: chosen from the number of frames
  /// Set in windowed mode, and where --on_collapse may cut a stream: then it is endless. Its session is the one above.
  std::optional<WindowedOptions> windowed;
};

/// Adds every flag of the command to `app`, under the public names with `_` and with `-`; parsing writes to `options`,
/// which must outlive it.
void add_run_flags(CLI::App& app, RunOptions& options);

/// Throws Error(usage) that names the flag, what was found and what is expected; Error(unsupported) for well-formed
/// wishes that this build cannot meet. Adds notes to `options` where one flag overrides another. Looks at no file.
[[nodiscard]] RunSettings settle(RunOptions& options);

/// What can be said of the files that --intrinsics and --align_to name before the first frame: throws Error(input)
/// where they cannot be read, or know fewer cameras than a folder of images has frames.
void check_export_files(const RunOptions& options, std::optional<std::int64_t> expected_frames);

/// Where `lingbot-map demo` writes if nothing else is said: beside the input, under its name with `_lingbot_map` behind
/// it; for cameras and URLs in the current folder.
[[nodiscard]] std::string demo_output(const RunOptions& options);

/// The public demo's choice for streaming: 1 up to 320 frames, above that ceil(frames / 320), so that no more frames
/// are kept than the network was trained with. 1 if the number of frames is not known.
[[nodiscard]] int automatic_keyframe_interval(std::optional<std::int64_t> frames);

}  // namespace lingbot_map::tool
