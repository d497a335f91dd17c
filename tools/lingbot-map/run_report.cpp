#include "run_report.hpp"

#include <ctime>
#include <iomanip>
#include <sstream>

#include "collapse_report.hpp"
#include "lingbot_map/version.hpp"
#include "stage_table.hpp"
#include "window_report.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::vector<std::string> formats_of(const RunOptions& options) {
  ExportFormats formats = options.export_formats();
  if (options.save_predictions) formats.add(ExportFormat::npz);
  return formats.names();
}

/// The world and unit of the results: output = scale * rotation * network + translation.
Json units_json(const RunReport& report) {
  const Sim3& output_from_network = report.units.output_from_network;
  Json json = {{"text", report.units.text},
               {"scale", output_from_network.scale},
               {"rotation", output_from_network.rotation},
               {"translation", output_from_network.translation},
               {"aligned_frames", nullptr},
               {"alignment_rmse", nullptr}};
  if (report.fit) {
    json["aligned_frames"] = report.fit->pairs;
    json["alignment_rmse"] = report.fit->rmse;
  }
  return json;
}

/// Every flag of the command under its name, with the value that took effect.
Json settings(const RunReport& report) {
  const RunOptions& options = report.options;
  const auto of_windows = [&report](const auto& value) {
    return report.windowed ? Json(value(*report.windowed)) : Json(nullptr);
  };
  return {
      {"image_folder", or_null(options.image_folder)},
      {"video_path", or_null(options.video_path)},
      {"fps", options.fps},
      {"first_k", or_null(options.first_k)},
      {"stride", options.stride},
      {"rotate_clockwise_90", options.rotate_clockwise_90},
      {"preprocess_mode", options.preprocess_mode},
      {"image_size", report.image_size},
      {"patch_size", options.patch_size},
      {"skip_bad_frames", options.skip_bad_frames},
      {"model_path", options.model_path},
      {"config", or_null(options.config)},
      {"mode", options.mode},
      {"num_scale_frames", report.session.scale_frames},
      {"keyframe_interval", report.session.keyframe_interval},
      {"keyframe_interval_is_automatic", options.keyframe_interval == "auto"},
      {"kv_cache_sliding_window", report.session.window},
      {"flow_threshold", report.session.flow_threshold},
      {"max_non_keyframe_gap", report.session.max_non_keyframe_gap},
      {"camera_num_iterations", report.session.camera_iterations},
      {"trajectory_memory", report.session.trajectory_memory},
      {"on_collapse", options.on_collapse},
      {"window_size",
       of_windows([](const auto& windowed) { return windowed.endless ? Json(nullptr) : Json(windowed.window_size); })},
      {"overlap_size", of_windows([](const auto& windowed) { return windowed.overlap_size; })},
      {"overlap_keyframes", of_windows([](const auto& windowed) { return or_null(windowed.overlap_keyframes); })},
      {"window_alignment", of_windows([](const auto& windowed) { return std::string(name_of(windowed.alignment)); })},
      {"backend", std::string(name_of(report.attention))},
      {"device", report.device.to_string()},
      {"dtype", std::string(name_of(report.dtype))},
      {"threads", report.threads},
      {"graphs", report.session.graphs},
      {"profile", report.session.profile},
      {"output", options.output},
      {"timestamps", options.timestamps},
      {"export", formats_of(options)},
      {"conf_threshold", options.conf_threshold},
      {"downsample_factor", options.downsample_factor},
      {"voxel_size", or_null(options.voxel_size)},
      {"intrinsics", or_null(options.intrinsics)},
      {"scale", or_null(options.scale)},
      {"align_to", or_null(options.align_to)},
      {"max_time_difference", options.max_time_difference},
      {"save_predictions", options.save_predictions},
      {"save_depth", options.save_depth},
      {"export_preprocessed", or_null(options.export_preprocessed)},
      {"checkpoint_every", options.checkpoint_every},
      {"mask_sky", options.mask_sky},
      {"sky_model", or_null(options.sky_model)},
      {"sky_mask_dir", or_null(options.sky_mask_dir)},
      {"sky_mask_visualization_dir", or_null(options.sky_mask_visualization_dir)},
  };
}

Json timings(const RunReport& report) {
  return {
      {"load", report.seconds.load},
      {"decode", report.seconds.decode},
      {"inference", report.seconds.inference},
      {"inference_stages", report.stages ? stages_json(*report.stages) : Json(nullptr)},
      {"write", report.seconds.write},
      {"sky", report.sky ? Json(report.sky->seconds) : Json(nullptr)},
      {"stream", report.seconds.stream},
      {"total", report.seconds.total},
  };
}

Json sky_json(const SkyReport& sky) {
  const std::int64_t frames = sky.made + sky.reused;
  return {{"model", sky.model},
          {"sha256", or_null(sky.sha256)},
          {"threshold", kSkyThreshold},
          {"masks_made", sky.made},
          {"masks_reused", sky.reused},
          {"mean_share", frames > 0 ? Json(sky.sum_of_shares / static_cast<double>(frames)) : Json(nullptr)}};
}

}  // namespace

std::string utc_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%FT%TZ");
  return text.str();
}

std::string_view name_of(RunStatus status) noexcept {
  switch (status) {
    case RunStatus::running: return "running";
    case RunStatus::complete: return "complete";
    case RunStatus::interrupted: return "interrupted";
    case RunStatus::failed: return "failed";
  }
  return "failed";
}

void RunReport::Counts::add(FrameType type) {
  ++frames;
  switch (type) {
    case FrameType::scale: ++scale_frames; break;
    case FrameType::keyframe: ++keyframes; break;
    case FrameType::non_keyframe: ++non_keyframes; break;
  }
}

nlohmann::ordered_json to_json(const RunReport& report) {
  const double rate =
      report.seconds.stream > 0 ? static_cast<double>(report.counts.frames) / report.seconds.stream : 0.0;
  return {
      {"status", std::string(name_of(report.status))},
      {"error", or_null(report.error)},
      {"program", {{"version", version()}, {"commit", commit()}, {"features", build_features()}}},
      {"start", report.start},
      {"device",
       {{"name", report.device_info.name},
        {"driver", or_null(report.device_info.driver)},
        {"memory_bytes", report.device_info.total_bytes},
        {"allocated_bytes", report.device_info.allocated_bytes}}},
      {"settings", settings(report)},
      {"checkpoint",
       {{"path", report.options.model_path},
        {"format", or_null(report.checkpoint_format)},
        {"sha256", or_null(report.sha256)},
        {"fingerprint", or_null(report.model_fingerprint)},
        {"config", Json::parse(report.config.to_json())},
        {"weight_bytes", report.weight_bytes},
        {"unexpected_tensors", report.unexpected_tensors}}},
      {"input",
       {{"expected_frames", or_null(report.expected_frames)},
        {"width", report.width},
        {"height", report.height},
        {"fingerprint", or_null(report.input_fingerprint)},
        {"cameras_fingerprint", or_null(report.cameras_fingerprint)}}},
      {"counts",
       {{"frames", report.counts.frames},
        {"scale_frames", report.counts.scale_frames},
        {"keyframes", report.counts.keyframes},
        {"non_keyframes", report.counts.non_keyframes},
        {"skipped_bad_frames", report.counts.skipped},
        {"jumps", report.collapses.jumps},
        {"cuts", report.collapses.cuts.size()}}},
      {"units", units_json(report)},
      {"frames_per_second", rate},
      {"windows", report.windowed ? to_json(report.windows) : Json(nullptr)},
      {"seconds", timings(report)},
      {"cache",
       {{"frame_count", report.cache.frame_count},
        {"scale_pages", report.cache.scale_pages},
        {"live_pages", report.cache.live_pages},
        {"free_pages", report.cache.free_pages},
        {"special_tokens", report.cache.special_tokens},
        {"bytes", report.cache_bytes}}},
      {"sky", report.sky ? sky_json(*report.sky) : Json(nullptr)},
      {"peak_memory_bytes", report.peak_memory_bytes},
      {"notes", report.options.notes},
      {"collapses", to_json(std::span<const CollapseEvent>(report.collapses.events))},
      {"cuts", report.collapses.cuts},
      {"warnings", report.warnings},
  };
}

}  // namespace lingbot_map::tool
