// Streaming as users see it: time of a frame with a prefilled cache, and memory over a long sequence. The weights are
// synthetic: no file is needed, and the time does not depend on them.
//
//   bench_stream frames --config official --dtype fp32 --width 518 --height 294 --scale_frames 8 --window 8 --depth 16
//   bench_stream memory --frames 100000 --keyframe_interval 100

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "lingbot_map/lingbot_map.hpp"
#include "model/model_impl.hpp"
#include "session/stream_state.hpp"

namespace {

using namespace lingbot_map;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A textured frame that differs from number to number.
Image make_frame(int width, int height, int number) {
  Image image(width, height);
  std::uint32_t state = 2463534242U + static_cast<std::uint32_t>(number) * 7919U;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    image.pixels[i] = static_cast<std::uint8_t>((i / 3 % static_cast<std::size_t>(width) + state % 64) % 256);
  }
  return image;
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

Model make_model(const std::string& config, const std::string& dtype, int threads) {
  return Model::synthetic(config == "official" ? Config::official() : Config::tiny(), 7,
                          {.dtype = dtype == "bf16" ? DType::bf16 : DType::f32, .threads = threads});
}

struct FramesOptions {
  std::string config = "tiny";
  std::string dtype = "fp32";
  int width = 84;
  int height = 56;
  int threads = 0;
  int repeats = 5;
  int warmup = 1;
  std::int64_t depth = 16;
  SessionOptions session{.scale_frames = 8, .window = 8};
};

/// Times streamed keyframes after a real scale pass and a prefill to `depth` kept frames.
void run_frames(const FramesOptions& options) {
  const Model model = make_model(options.config, options.dtype, options.threads);
  Backend& backend = model.impl()->backend();
  const Network& network = model.impl()->network();
  const FrameGrid grid(model.config(), options.width, options.height);
  const auto attention = make_attention(backend, options.session.attention, model.dtype());
  StreamState state(network, options.session, backend, *attention, model.dtype(), grid);
  const MemoryPlan plan = Session::plan(model, options.session, options.width, options.height);
  Arena arena(backend.allocate(plan.activations));
  StageTimes times;
  const auto clock = backend.make_clock();
  const auto run = [&](StreamState::Role role, std::int64_t frames) {
    const Arena::Scope scope(arena);
    const Tensor inputs = arena.allocate(DType::u8, {static_cast<std::int64_t>(PassInputs::bytes(frames, grid))});
    std::vector<std::byte> host(inputs.bytes());
    const Tensor block(host.data(), DType::u8, {static_cast<std::int64_t>(host.size())});
    auto* pixels = PassInputs::in(block, frames, grid).images.data<std::uint8_t>();
    for (std::int64_t i = 0; i < frames; ++i) {
      pixels = std::ranges::copy(make_frame(options.width, options.height, static_cast<int>(i)).pixels, pixels).out;
    }
    const auto start = Clock::now();
    state.begin(role, frames, block);
    backend.upload(host, inputs);
    (void)state.run(inputs, arena, times, clock.get());
    state.end();
    return seconds_since(start);
  };
  const double scale_seconds = run(StreamState::Role::scale, options.session.scale_frames);
  state.prefill(std::max<std::int64_t>(options.depth - options.session.scale_frames, 0));
  for (int i = 0; i < options.warmup; ++i) (void)run(StreamState::Role::keyframe, 1);
  times = {};
  std::vector<double> seconds;
  for (int i = 0; i < options.repeats; ++i) seconds.push_back(run(StreamState::Role::keyframe, 1));
  const double repeats = options.repeats;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  std::printf(
      "| config | dtype | size | threads | scale, window | kept | scale pass s | median s | min s | max s | frames/s "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::printf("| %s | %s | %dx%d | %d | %d, %d | %lld | %.3f | %.4f | %.4f | %.4f | %.3f |\n", options.config.c_str(),
              options.dtype.c_str(), options.width, options.height, model.threads(), options.session.scale_frames,
              options.session.window, static_cast<long long>(state.cache().frames_kept()), scale_seconds, median,
              seconds.front(), seconds.back(), 1 / median);
  std::printf("mean of each stage, s: encoder %.4f, frame blocks %.4f, global blocks %.4f, camera %.4f, depth %.4f\n",
              times.encoder / repeats, times.frame_attention / repeats, times.global_attention / repeats,
              times.camera / repeats, times.depth / repeats);
}

struct MemoryOptions {
  std::int64_t frames = 3000;
  int keyframe_interval = 10;
  int threads = 0;
};

/// Streams the tiny model at 84x56 and prints resident memory as it goes; the exit code tells whether it grew by more
/// than what kept frames leave, plus 5 %.
int run_memory(const MemoryOptions& options) {
  const Model model = make_model("tiny", "fp32", options.threads);
  const SessionOptions session_options{.scale_frames = 8, .window = 64, .keyframe_interval = options.keyframe_interval};
  Session session(model, session_options);
  const MemoryPlan plan = Session::plan(model, session_options, 84, 56);
  std::vector<Image> frames;
  for (int i = 0; i < 16; ++i) frames.push_back(make_frame(84, 56, i));
  const auto start = Clock::now();
  std::size_t settled = 0;
  std::int64_t settled_frames = 0;
  std::printf("| frames | kept | resident MB | cache MB | frames/s |\n|---|---|---|---|---|\n");
  for (std::int64_t i = 0; i < options.frames; ++i) {
    (void)session.push(frames[static_cast<std::size_t>(i) % frames.size()]);
    const CacheStats stats = session.cache_stats();
    if (settled == 0 &&
        stats.live_pages == session_options.window) {  // from here on only what is kept for ever adds up
      settled = resident_bytes();
      settled_frames = stats.frame_count;
    }
    if ((i + 1) % std::max<std::int64_t>(options.frames / 10, 1) == 0) {
      std::printf("| %lld | %lld | %.1f | %.1f | %.1f |\n", static_cast<long long>(i + 1),
                  static_cast<long long>(stats.frame_count), static_cast<double>(resident_bytes()) / 1e6,
                  static_cast<double>(session.cache_bytes()) / 1e6, static_cast<double>(i + 1) / seconds_since(start));
      std::fflush(stdout);
    }
  }
  if (settled == 0) {
    std::fprintf(stderr, "too few frames: the window of %d keyframes was never full\n", session_options.window);
    return 2;
  }
  const auto kept = static_cast<double>(session.cache_stats().frame_count - settled_frames);
  const double grown = static_cast<double>(resident_bytes()) - static_cast<double>(settled);
  std::printf("grew by %.2f MB over %.0f kept frames: %.0f bytes each, %zu by design\n", grown / 1e6, kept,
              grown / kept, plan.per_kept_frame);
  return grown <= kept * static_cast<double>(plan.per_kept_frame) * 1.05 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Time and memory of streaming with synthetic weights."};
  app.require_subcommand(0, 1);
  FramesOptions frames;
  CLI::App* time = app.add_subcommand("frames", "time of a frame with a prefilled cache");
  time->add_option("--config", frames.config, "official or tiny")->check(CLI::IsMember({"official", "tiny"}));
  time->add_option("--dtype", frames.dtype, "fp32 or bf16")->check(CLI::IsMember({"fp32", "bf16"}));
  time->add_option("--width", frames.width);
  time->add_option("--height", frames.height);
  time->add_option("--threads", frames.threads);
  time->add_option("--repeats", frames.repeats);
  time->add_option("--warmup", frames.warmup);
  time->add_option("--depth", frames.depth, "frames kept before the timing");
  time->add_option("--scale_frames", frames.session.scale_frames);
  time->add_option("--window", frames.session.window);
  MemoryOptions memory;
  CLI::App* size = app.add_subcommand("memory", "memory over a long sequence of the tiny model");
  size->add_option("--frames", memory.frames);
  size->add_option("--keyframe_interval", memory.keyframe_interval);
  size->add_option("--threads", memory.threads);
  CLI11_PARSE(app, argc, argv);
  if (size->parsed()) return run_memory(memory);
  run_frames(frames);
  return 0;
}
