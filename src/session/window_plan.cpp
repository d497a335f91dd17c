#include "session/window_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/message.hpp"
#include "session/checks.hpp"

namespace lingbot_map {
namespace {

std::int64_t wanted_overlap(const WindowedOptions& options) {
  if (!options.overlap_keyframes) return options.overlap_size;
  return std::max<std::int64_t>(options.session.scale_frames,
                                std::int64_t{*options.overlap_keyframes} * options.session.keyframe_interval);
}

std::string overlap_text(const WindowedOptions& options, std::int64_t overlap) {
  if (!options.overlap_keyframes) return message("overlap_size is ", overlap);
  return message("overlap_keyframes is ", *options.overlap_keyframes, ", an overlap of ", overlap, " frames");
}

}  // namespace

WindowPlan::WindowPlan(const WindowedOptions& options)
    : by_flow_(options.session.flow_threshold > 0),
      endless_(options.endless),
      scale_frames_(options.session.scale_frames),
      keyframes_(std::max<std::int64_t>(std::int64_t{options.window_size} - scale_frames_, 0)),
      length_(endless_ ? std::numeric_limits<std::int64_t>::max()
                       : scale_frames_ + keyframes_ * options.session.keyframe_interval),
      overlap_(wanted_overlap(options)) {
  check_options(options.session);
  if (options.window_size < 1) {
    fail(ErrorCode::usage, "window_size is ", options.window_size, ": expected 1 or more");
  }
  if (options.overlap_keyframes ? *options.overlap_keyframes < 1 : options.overlap_size < 0) {
    fail(ErrorCode::usage, overlap_text(options, options.overlap_keyframes ? overlap_ : options.overlap_size),
         options.overlap_keyframes ? ": expected 1 or more" : ": expected 0 or more");
  }
  if (endless_ && !options.cuts) fail(ErrorCode::usage, "endless windows without cuts: expected cuts, or a Session");
  if (options.cuts && overlap_ == 0)
    fail(ErrorCode::usage, overlap_text(options, overlap_),
         ", but after a cut a window is placed by the frames in common: expected 1 or more");
  if (endless_) return;
  if (overlap_ >= length_) {
    fail(ErrorCode::usage, overlap_text(options, overlap_), ", but a window has ", by_flow_ ? "as few as " : "",
         length_, " frames (", scale_frames_, " scale frames, window_size ", options.window_size,
         "): expected an overlap below ", length_,
         ", so that each window brings frames of its own; lower the overlap or raise window_size");
  }
  if (by_flow_ && overlap_ > 0 && keyframes_ == 0) {
    fail(ErrorCode::usage, "window_size is ", options.window_size, " with ", scale_frames_,
         " scale frames and a flow threshold: windows would have no frame in common, expected more than ",
         scale_frames_);
  }
}

std::int64_t WindowPlan::least_length(std::int64_t frames, std::int64_t keyframes) const noexcept {
  if (endless_ || !by_flow_) return length_;
  return std::max(frames, scale_frames_) + std::max<std::int64_t>(keyframes_ - keyframes, 0);
}

std::int64_t WindowPlan::overlap_of(std::int64_t frames) const noexcept {
  return by_flow_ ? std::min(overlap_, frames - scale_frames_) : overlap_;
}

}  // namespace lingbot_map
