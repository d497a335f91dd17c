#include "input_frames.hpp"

#include <utility>
#include <vector>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

std::unique_ptr<FrameSource> open_source(const RunOptions& options, int image_size) {
  SourceOptions source;
  source.image_size = image_size;
  source.patch_size = options.patch_size;
  source.mode = options.preprocess_mode == "pad" ? PreprocessMode::pad : PreprocessMode::crop;
  source.fps = options.fps;
  source.first_k = options.first_k;
  source.stride = options.stride;
  source.rotate_clockwise_90 = options.rotate_clockwise_90;
  return options.video_path.empty() ? open_image_folder(options.image_folder, source)
                                    : open_video(options.video_path, source);
}

}  // namespace

InputFrames::InputFrames(const RunOptions& options, int image_size, Console& console)
    : name_(options.video_path.empty() ? options.image_folder : options.video_path),
      skip_bad_frames_(options.skip_bad_frames),
      source_(open_source(options, image_size)),
      timestamps_(options.timestamps == "name" ? Timestamps::Rule::name : Timestamps::Rule::index, options.fps),
      console_(console) {
  tell_warnings();
}

void InputFrames::resume_after(const InputPosition& position, std::int64_t skipped) {
  source_->skip_to(position.source_index + 1);
  timestamps_.resume_after(position.timestamp, position.name);
  skipped_ = skipped;
}

std::optional<TimedFrame> InputFrames::next() {
  std::vector<std::string> left_out;
  while (auto frame = source_->next()) {
    if (frame->ok()) {
      const double time = timestamps_.next(frame->timestamp, frame->source_index, frame->name);
      return TimedFrame{*std::move(frame), time, std::move(left_out)};
    }
    if (!skip_bad_frames_) fail(ErrorCode::input, frame->error, "; --skip_bad_frames goes on without such frames");
    ++skipped_;
    left_out.push_back(frame->error + "; skipped");
    console_.warning(left_out.back());
  }
  return std::nullopt;
}

void InputFrames::tell_warnings() {
  const std::vector<std::string> warnings = source_->warnings();
  for (; told_warnings_ < warnings.size(); ++told_warnings_) console_.warning(warnings[told_warnings_]);
}

}  // namespace lingbot_map::tool
