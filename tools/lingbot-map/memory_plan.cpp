#include "memory_plan.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map::tool {
namespace {

std::size_t growth(const MemoryPlan& plan, const SessionOptions& options, std::optional<std::int64_t> frames) {
  return frames ? plan.per_kept_frame * static_cast<std::size_t>(kept_frames(*frames, options)) : 0;
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

std::string plan_text(const MemoryPlan& plan, const SessionOptions& options, int width, int height,
                      std::optional<std::int64_t> frames) {
  std::ostringstream out;
  const auto row = [&out](const std::string& name, std::size_t bytes, const std::string& remark) {
    out << "  " << std::left << std::setw(18) << name << std::right << std::setw(9) << bytes_text(bytes)
        << (remark.empty() ? "" : "  ") << remark << '\n';
  };
  out << "Memory for frames of " << width << "x" << height << ":\n";
  row("weights", plan.weights, "");
  row("cache", plan.cache_slots,
      message("patches of ", options.scale_frames, " scale frames and a window of ", options.window));
  row("activations", plan.activations, "");
  std::size_t total = plan.weights + plan.cache_slots + plan.activations;
  if (frames) {
    const std::size_t grown = growth(plan, options, frames);
    row("kept frames", grown,
        message(kept_frames(*frames, options), " of ", *frames, " frames, ", bytes_text(plan.per_kept_frame), " each"));
    total += grown;
  } else {
    row("each kept frame", plan.per_kept_frame, "the number of frames is not known");
  }
  row("together", total, "");
  return out.str();
}

void require_memory(const MemoryPlan& plan, const SessionOptions& options, std::optional<std::int64_t> frames,
                    std::optional<std::size_t> available) {
  const std::size_t needed = plan.cache_slots + plan.activations + growth(plan, options, frames);
  if (!available || needed <= *available) return;
  fail(ErrorCode::resource, "memory: this run takes ", bytes_text(needed), " beside the weights, and ",
       bytes_text(*available), " are free; lower --kv_cache_sliding_window (now ", options.window,
       "), --num_scale_frames (now ", options.scale_frames, ") or --image_size");
}

}  // namespace lingbot_map::tool
