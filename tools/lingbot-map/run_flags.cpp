#include "flags.hpp"
#include "run_options.hpp"

namespace lingbot_map::tool {
namespace {

void add_input_flags(Flags& flags, RunOptions& options) {
  flags.group("Input");
  flags.value("--image_folder", options.image_folder, "Folder of images, taken in natural order", "DIR");
  flags.value("--video_path", options.video_path, "Video file, camera number or URL; wins over --image_folder",
              "VIDEO");
  flags.value("--fps", options.fps, "Frames a second taken from a video, or that images stand for (10)", "N");
  flags.value("--first_k", options.first_k, "Only the first k images or sampled frames", "N");
  flags.value("--stride", options.stride, "Every n-th of those (1)", "N");
  flags.flag("--rotate_clockwise_90", options.rotate_clockwise_90, "Rotate the stored pixels first");
  flags.value("--preprocess_mode", options.preprocess_mode,
              "What a tall image loses: rows (crop, the default) or nothing (pad)", "crop|pad");
  flags.value("--image_size", options.image_size, "Width that frames are resized to (the model's own, 518)", "PIXELS");
  flags.value("--patch_size", options.patch_size, "Of the network; 14 is the only one there is", "14");
  flags.flag("--skip_bad_frames", options.skip_bad_frames, "Report and leave out images that cannot be read");
}

void add_model_flags(Flags& flags, RunOptions& options) {
  flags.group("Model and cache");
  flags.value("--model_path", options.model_path,
              "Checkpoint: .pt or .safetensors (the one that comes with the program)", "FILE");
  flags.value("--config", options.config, "Sizes of the network, where the checkpoint does not tell them",
              "FILE.json|official|tiny");
  flags.value("--mode", options.mode, "One stream (the default), or windows that each begin anew, for long sequences",
              "streaming|windowed");
  flags.value("--num_scale_frames", options.num_scale_frames, "Frames of the first pass, which stay for ever (8)", "N");
  flags.value("--keyframe_interval", options.keyframe_interval,
              "Every n-th frame is kept; auto: 1 up to 320 frames, else frames / 320", "N|auto");
  flags.value("--flow_threshold", options.flow_threshold,
              "Above 0: frames are kept when their pixels moved by more, instead of every n-th", "PIXELS");
  flags.value("--max_non_keyframe_gap", options.max_non_keyframe_gap,
              "With --flow_threshold: a frame this long after the last kept one is kept (100)", "N");
  flags.value("--kv_cache_sliding_window", options.kv_cache_sliding_window, "Keyframes kept whole (64)", "N");
  flags.value("--camera_num_iterations", options.camera_num_iterations, "Refinement passes of the pose (4)", "N");
  flags.flag("--no_trajectory_memory", options.no_trajectory_memory,
             "Forget the special tokens of a keyframe with its patches, to see what they are good for");
  flags.value(
      "--on_collapse", options.on_collapse,
      "When translation, scale or confidence jump: say so, go on in a new window placed on the last, or end there",
      "warn|reset|stop");
  flags.value("--backend", options.backend, "Attention back end", "auto|sdpa|flashinfer");
  flags.flag("--use_sdpa", options.use_sdpa, "Same as --backend sdpa");
  flags.value("--device", options.device, "Where the network runs; auto: a GPU where there is one",
              "auto|cpu|cuda[:N]");
  flags.value("--dtype", options.dtype,
              "Of weights and matrix products; auto: fp32 on the CPU, on a GPU bf16 or, if old, fp16",
              "auto|fp32|bf16|fp16");
  flags.value("--threads", options.threads, "Of the CPU; 0: one for each processor (0)", "N");
  flags.flag("--no_graphs", options.no_graphs, "Do not record a frame's operations on a GPU to replay them: same bits");
}

void add_output_flags(Flags& flags, RunOptions& options) {
  flags.group("Output");
  flags.value("--output", options.output, "Folder for the results; made if it is not there", "DIR");
  flags.value("--timestamps", options.timestamps,
              "Of images: position in the folder / fps (index, the default) or the number in the file name",
              "index|name");
  add_export_flags(flags, options);
  flags.flag("--save_predictions", options.save_predictions,
             "Everything the network says, one .npz a frame: the format npz");
  flags.flag("--save_depth", options.save_depth, "Depth and confidence as pictures");
  flags.value("--export_preprocessed", options.export_preprocessed, "Write what the network sees as PNG", "DIR");
  flags.value("--checkpoint_every", options.checkpoint_every,
              "Save the run every n frames, so that --resume can go on from there if it is killed", "N");
  flags.flag("--resume", options.resume, "Go on with the run in --output, from where it was last saved");
  flags.flag("--plan", options.plan, "Print the memory that a run takes, and stop");
  flags.flag("--profile", options.profile, "Print the time of every stage at the end; on a GPU this costs speed");
  flags.flag("--quiet", options.quiet, "Print nothing but errors");
  flags.flag("--verbose", options.verbose, "Print more");
}

void add_sky_flags(Flags& flags, RunOptions& options) {
  flags.group("Sky");
  flags.flag("--mask_sky", options.mask_sky, "Find the sky in every frame and set its confidence to 0");
  flags.value("--sky_model,--skyseg_model_path", options.sky_model,
              "What finds it: the public network skyseg.onnx, or an estimate that needs no file", "FILE.onnx|builtin");
  flags.value("--sky_mask_dir", options.sky_mask_dir, "Masks are kept there for later runs (OUTPUT/sky_masks)", "DIR");
  flags.value("--sky_mask_visualization_dir", options.sky_mask_visualization_dir,
              "Write frame, mask and overlay side by side", "DIR");
}

/// The rest of the public demo's flags, so that its command lines work or say why they do not.
void add_other_public_flags(Flags& flags, RunOptions& options) {
  auto& notes = options.notes;
  flags.switch_for("--enable_3d_rope", notes, "rotary positions along time are always on; the flag changes nothing");
  flags.line_for("--max_frame_num", 1, notes, "a sequence may have any length; the value changes nothing");
  flags.switch_for("--compile", notes, "every kernel was compiled with the program; the flag changes nothing");
  flags.switch_for("--offload_to_cpu", notes, "results leave for the disk frame by frame; the flag changes nothing");
  flags.switch_for("--no-offload_to_cpu", notes, "results leave for the disk frame by frame; the flag changes nothing");
  flags.line_for("--port", 1, notes, "there is no viewer yet, results are files; the value changes nothing");
  flags.line_for("--point_size", 1, notes, "there is no viewer yet, results are files; the value changes nothing");
}

}  // namespace

void add_run_flags(CLI::App& app, RunOptions& options) {
  app.footer("Names are the public demo's; each may be written with - in place of _.");
  Flags flags(app);
  add_input_flags(flags, options);
  add_model_flags(flags, options);
  add_window_flags(flags, options, "Windows (--mode windowed, --on_collapse reset)");
  add_output_flags(flags, options);
  add_sky_flags(flags, options);
  add_other_public_flags(flags, options);
}

}  // namespace lingbot_map::tool
