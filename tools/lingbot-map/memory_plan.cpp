#include "memory_plan.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map::tool {
namespace {

/// Frames that are kept at a time, or may be.
std::optional<std::int64_t> kept_at_most(const PlannedRun& run) {
  if (!run.frames) return run.most_kept;
  const std::int64_t kept = kept_frames(*run.frames, run.session);
  return run.most_kept ? std::min(kept, *run.most_kept) : kept;
}

std::size_t growth(const MemoryPlan& plan, const PlannedRun& run) {
  return plan.per_kept_frame * static_cast<std::size_t>(kept_at_most(run).value_or(0));
}

std::string kept_text(const MemoryPlan& plan, const PlannedRun& run, std::int64_t kept) {
  const std::string each = message(", ", bytes_text(plan.per_kept_frame), " each");
  if (run.most_kept) return message(kept, " at a time", each);
  return message(run.session.flow_threshold > 0 ? "up to " : "", kept, " of ", *run.frames, " frames", each);
}

std::string room_text(const MemoryPlan& plan, const PlannedRun& run) {
  const std::size_t fixed = fixed_bytes(plan);
  const std::string free = message("  ", bytes_text(run.free_bytes), " are free beside the weights: ");
  if (run.free_bytes < fixed) return free + "too little\n";
  if (plan.per_kept_frame == 0) return free + "enough\n";
  return message(free, "room for ", grouped((run.free_bytes - fixed) / plan.per_kept_frame), " kept frames\n");
}

}  // namespace

std::int64_t kept_frames(std::int64_t frames, const SessionOptions& options) {
  const std::int64_t scale = std::min<std::int64_t>(frames, options.scale_frames);
  const std::int64_t interval = options.keyframe_interval;
  return scale + (frames - scale + interval - 1) / interval;
}

SessionOptions filled_part(SessionOptions options, std::optional<std::int64_t> frames) {
  if (!frames || *frames < 1) return options;
  const std::int64_t scale = std::min<std::int64_t>(*frames, options.scale_frames);
  const std::int64_t streamed = std::max<std::int64_t>(1, kept_frames(*frames, options) - scale);
  options.scale_frames = static_cast<int>(scale);
  options.window = static_cast<int>(std::min<std::int64_t>(options.window, streamed));
  return options;
}

std::size_t common_frames_bytes(std::int64_t overlap, int width, int height, bool world_points, bool cuts) noexcept {
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t result = pixels * sizeof(float) * (world_points ? 6 : 2);
  const std::size_t image = pixels * 3;
  const std::size_t ratios = pixels * sizeof(float);
  constexpr std::int64_t kMostFrames = std::int64_t{1} << 30;  // more than any memory holds, and no overflow
  return static_cast<std::size_t>(std::min(overlap, kMostFrames)) *
         (2 * result + 2 * image + ratios + (cuts ? result + image : 0));
}

std::size_t fixed_bytes(const MemoryPlan& plan) noexcept {
  return plan.cache_slots + plan.activations + plan.workspace;
}

std::string plan_text(const MemoryPlan& plan, const PlannedRun& run) {
  std::ostringstream out;
  const auto row = [&out](const std::string& name, std::size_t bytes, const std::string& remark) {
    out << "  " << std::left << std::setw(22) << name << std::right << std::setw(9) << bytes_text(bytes)
        << (remark.empty() ? "" : "  ") << remark << '\n';
  };
  out << "Memory for frames of " << run.width << "x" << run.height << ":\n";
  row("weights", plan.weights, std::string(name_of(run.dtype)));
  row("cache", plan.cache_slots,
      message("patches of ", run.session.scale_frames, " scale frames and a window of ", run.session.window));
  row("activations", plan.activations, "");
  if (plan.workspace > 0) row("workspace", plan.workspace, "of products and attention");
  if (const auto kept = kept_at_most(run)) {
    row("kept frames", growth(plan, run), kept_text(plan, run, *kept));
  } else {
    row("each kept frame", plan.per_kept_frame, "the number of frames is not known");
  }
  if (plan.context > 0) row("context and libraries", plan.context, "what the GPU's driver takes in every process");
  if (run.held_bytes > 0) row("common frames", run.held_bytes, "what waits where windows meet, in the host's memory");
  row("together", plan.weights + fixed_bytes(plan) + growth(plan, run) + plan.context + run.held_bytes, "");
  if (run.free_bytes > 0) out << room_text(plan, run);
  return out.str();
}

void require_memory(const MemoryPlan& plan, const PlannedRun& run) {
  const std::size_t needed = fixed_bytes(plan) + growth(plan, run) + (run.on_cpu ? run.held_bytes : 0);
  if (run.free_bytes == 0 || needed <= run.free_bytes) return;
  fail(ErrorCode::resource, "memory: this run takes ", bytes_text(needed), " beside the weights, and ",
       bytes_text(run.free_bytes), " are free; lower --kv_cache_sliding_window (now ", run.session.window,
       "), --num_scale_frames (now ", run.session.scale_frames, ") or --image_size (now ", run.width,
       run.most_kept ? message("), --window_size or the overlap")
       : run.frames  ? message("), raise --keyframe_interval (now ", run.session.keyframe_interval, ")")
                     : ")",
       run.dtype == DType::f32 ? " or take --dtype bf16" : "");
}

}  // namespace lingbot_map::tool
