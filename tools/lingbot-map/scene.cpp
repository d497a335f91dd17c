#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numbers>
#include <string>

#include "base/message.hpp"
#include "base/thread_pool.hpp"
#include "choices.hpp"
#include "command.hpp"
#include "flags.hpp"
#include "scene_output.hpp"
#include "write_model.hpp"

namespace lingbot_map::tool {
namespace {

struct SceneFlags {
  std::string kind;
  std::string seed = "0";
  std::string frames = "200";
  std::string size = "504x378";
  std::string output;
  std::string fov = "auto";
  std::string fps = "10";
  std::string threads = "0";
  bool sky_masks = false;
  bool quiet = false;
};

/// A whole number that fits an int; what is too large is the largest, which the next check refuses.
int number_of(std::string_view flag, const std::string& text, std::int64_t least) {
  return static_cast<int>(std::min<std::int64_t>(whole_number(flag, text, least), 1 << 30));
}

double positive_number(std::string_view flag, const std::string& text, double most) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || !(number > 0 && number <= most)) {
    fail(ErrorCode::usage, flag, " ", text, ": expected a number above 0 and up to ", most);
  }
  return number;
}

void read_size(const std::string& text, scene::SequenceOptions& options) {
  const char* const end = text.data() + text.size();
  const auto [cross, width_error] = std::from_chars(text.data(), end, options.width);
  const bool has_cross = width_error == std::errc{} && cross != end && *cross == 'x';
  const auto [stop, height_error] = std::from_chars(has_cross ? cross + 1 : end, end, options.height);
  if (!has_cross || height_error != std::errc{} || stop != end) {
    fail(ErrorCode::usage, "--size ", text, ": expected WIDTHxHEIGHT in pixels, as 504x378");
  }
}

scene::SequenceOptions options_of(const SceneFlags& flags) {
  scene::SequenceOptions options;
  options.kind = scene::kSceneKinds[choice("--kind", flags.kind, {"room", "corridor", "street", "orbit"})];
  options.seed = seed_of(flags.seed);
  options.frames = number_of("--frames", flags.frames, 1);
  read_size(flags.size, options);
  if (flags.fov != "auto") options.fov_horizontal = positive_number("--fov", flags.fov, 150) * std::numbers::pi / 180;
  return options;
}

void write_scene(const SceneFlags& flags) {
  const scene::SequenceOptions options = options_of(flags);
  const double fps = positive_number("--fps", flags.fps, 1e6);
  constexpr int kMostThreads = 1024;
  const int wanted = number_of("--threads", flags.threads, 0);
  if (wanted > kMostThreads) fail(ErrorCode::usage, "--threads ", flags.threads, ": expected up to ", kMostThreads);
  ThreadPool threads(wanted);
  const scene::Sequence sequence(options);
  SceneOutput output(flags.output, sequence, fps, flags.sky_masks);
  const auto start = std::chrono::steady_clock::now();
  // Cameras follow their pictures, so that an end before time leaves no camera without a picture.
  const int batch = 4 * threads.size();
  for (int first = 0; first < options.frames; first += batch) {
    const int count = std::min(batch, options.frames - first);
    threads.parallel_for(count, [&](std::int64_t i, int) {
      const int index = first + static_cast<int>(i);
      output.write_pictures(index, sequence.frame(index));
    });
    for (int i = 0; i < count; ++i) output.write_camera(first + i);
  }
  output.finish();
  if (flags.quiet) return;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d frames of %d x %d in %s: %.1f m of path, field of view %.1f degrees, %.0f frames/s\n", options.frames,
              options.width, options.height, flags.output.c_str(), scene::path_length(sequence.path()),
              sequence.fov_horizontal() * 180 / std::numbers::pi, options.frames / std::max(seconds.count(), 1e-9));
}

}  // namespace

void add_scene(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("scene", "Draws a generated scene with its true cameras and depth; needs no model.");
  auto scene_flags = std::make_shared<SceneFlags>();
  Flags flags(*command);
  flags.value("--kind", scene_flags->kind, "What to draw", "room|corridor|street|orbit")->required();
  flags
      .value("--output", scene_flags->output, "Folder for pictures, depth and cameras; made if it is not there", "DIR")
      ->required();
  flags.value("--seed", scene_flags->seed, "Whole number from 0 on; each is another scene and path (0)", "N");
  flags.value("--frames", scene_flags->frames, "Length of the sequence (200)", "N");
  flags.value("--size", scene_flags->size, "Pixels of a frame (504x378)", "WxH");
  flags.value("--fov", scene_flags->fov, "Horizontal field of view; auto: 45 to 95 by the seed", "DEGREES|auto");
  flags.value("--fps", scene_flags->fps, "Time stamps are the frame's number divided by it (10)", "N");
  flags.value("--threads", scene_flags->threads, "0: one for each processor (0)", "N");
  flags.flag("--sky_masks", scene_flags->sky_masks, "Write masks that are black where the sky is");
  flags.flag("--quiet", scene_flags->quiet, "Print nothing but errors");
  command->callback([scene_flags] { write_scene(*scene_flags); });
}

}  // namespace lingbot_map::tool
