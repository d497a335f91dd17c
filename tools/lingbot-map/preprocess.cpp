#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/npy.hpp"
#include "base/numbered_name.hpp"
#include "command.hpp"
#include "media/frame_source.hpp"
#include "media/write_png.hpp"

namespace lingbot_map::tool {

namespace {

struct PreprocessFlags {
  std::string image_folder;
  std::string video_path;
  std::filesystem::path output;
  SourceOptions source;
  bool skip_bad_frames = false;
};

std::unique_ptr<FrameSource> open_source(const PreprocessFlags& flags) {
  if (flags.image_folder.empty() == flags.video_path.empty()) {
    fail(ErrorCode::usage, "preprocess: give one of --image_folder and --video_path");
  }
  return flags.video_path.empty() ? open_image_folder(flags.image_folder, flags.source)
                                  : open_video(flags.video_path, flags.source);
}

void create_output(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorCode::output, folder.string(), ": the output folder cannot be made: ", error.message());
}

/// uint8 [3, height, width].
void write_npy(const std::filesystem::path& path, const Image& image) {
  const std::size_t plane = image.pixels.size() / 3;
  std::vector<std::uint8_t> channels(image.pixels.size());
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < 3; ++c) channels[c * plane + i] = image.pixels[3 * i + c];
  }
  FileWriter file(path);
  file.write(npy_header("|u1", {3, image.height, image.width}));
  file.write(std::as_bytes(std::span(channels)));
  file.commit();
}

void warn(const std::string& text) { std::fprintf(stderr, "lingbot-map: warning: %s\n", text.c_str()); }

void preprocess(const PreprocessFlags& flags) {
  const std::unique_ptr<FrameSource> source = open_source(flags);
  create_output(flags.output);
  std::size_t told = 0;
  auto tell_warnings = [&] {
    const std::vector<std::string> warnings = source->warnings();
    for (; told < warnings.size(); ++told) warn(warnings[told]);
  };
  tell_warnings();
  std::int64_t written = 0;
  while (const std::optional<SourceFrame> frame = source->next()) {
    if (!frame->ok()) {
      if (!flags.skip_bad_frames) fail(ErrorCode::input, frame->error, " (--skip_bad_frames goes on without it)");
      warn(frame->error + "; skipped");
      continue;
    }
    write_npy(flags.output / numbered_name("", written, ".npy"), frame->image);
    write_png(flags.output / numbered_name("", written, ".png"), frame->image);
    ++written;
  }
  tell_warnings();
  if (written == 0) fail(ErrorCode::input, "preprocess: no frame could be read");
  std::printf("%lld frames of %d x %d in %s\n", static_cast<long long>(written), source->width(), source->height(),
              flags.output.c_str());
}

}  // namespace

void add_preprocess(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("preprocess", "Write what the network would see of each frame; needs no model.");
  auto flags = std::make_shared<PreprocessFlags>();
  SourceOptions& source = flags->source;
  const std::map<std::string, PreprocessMode> modes = {{"crop", PreprocessMode::crop}, {"pad", PreprocessMode::pad}};
  command->add_option("--image_folder,--image-folder", flags->image_folder, "Folder of images");
  command->add_option("--video_path,--video-path", flags->video_path, "Video file, camera number or URL");
  command->add_option("--output", flags->output, "Folder for 000000.npy (uint8, CHW) and 000000.png")->required();
  command->add_option("--image_size,--image-size", source.image_size, "Width that frames are resized to")
      ->capture_default_str();
  command->add_option("--patch_size,--patch-size", source.patch_size, "Both sides become multiples of it")
      ->capture_default_str();
  command
      ->add_option("--preprocess_mode,--preprocess-mode", source.mode,
                   "crop: cut tall frames (the default); pad: white borders")
      ->transform(CLI::CheckedTransformer(modes))
      ->option_text("crop|pad");
  command->add_option("--fps", source.fps, "Frames a second taken from a video")->capture_default_str();
  command->add_option("--first_k,--first-k", source.first_k, "Only the first k frames");
  command->add_option("--stride", source.stride, "Every n-th frame")->capture_default_str();
  command->add_flag("--rotate_clockwise_90,--rotate-clockwise-90", source.rotate_clockwise_90,
                    "Turn frames as stored a quarter clockwise first");
  command->add_flag("--skip_bad_frames,--skip-bad-frames", flags->skip_bad_frames,
                    "Go on without frames that cannot be read");
  command->callback([flags] { preprocess(*flags); });
}

}  // namespace lingbot_map::tool
