#include <algorithm>
#include <iostream>
#include <memory>

#include "base/message.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "bench/streams.hpp"
#include "choices.hpp"
#include "lingbot_map/device_info.hpp"
#include "memory_plan.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDifferentFrames = 16;
constexpr std::int64_t kParts = 10;
constexpr double kTolerance = 1.05;
/// A GPU maps memory in pieces of this size, so that what a plane grew by may be off by one of them.
constexpr std::size_t kGranule = std::size_t{2} << 20;

struct MemoryFlags {
  StreamFlags stream;
  std::int64_t frames = 10'000;
  std::string keyframe_interval = "1";
};

const std::vector<Column> kColumns = {{"backend", "/backend"},
                                      {"dtype", "/dtype"},
                                      {"size", "/size"},
                                      {"interval", "/keyframe_interval"},
                                      {"frames", "/frames"},
                                      {"kept", "/kept"},
                                      {"device MB", "/device_bytes", 1e-6, 1},
                                      {"cache MB", "/cache_bytes", 1e-6, 1},
                                      {"ms a frame", "/ms_per_frame"}};

struct Usage {
  std::int64_t kept = 0;
  std::size_t device = 0;
  std::size_t cache = 0;
};

class BenchMemory {
 public:
  explicit BenchMemory(const MemoryFlags& flags)
      : flags_(flags),
        settings_(StreamSettings::of(flags.stream)),
        table_(std::cout, settings_.output, machine_json(settings_.device.to_string())) {
    for (const std::string& text : list_of("--keyframe_interval", flags.keyframe_interval)) {
      SessionOptions options = settings_.session;
      options.keyframe_interval =
          static_cast<int>(std::min<std::int64_t>(whole_number("--keyframe_interval", text, 1), 1 << 30));
      const std::int64_t streamed = kept_frames(flags.frames, options) - options.scale_frames;
      if (streamed <= options.window + 1)
        fail(ErrorCode::usage, "--frames: found ", flags.frames, ", but at --keyframe_interval ", text, " more than ",
             options.scale_frames + (options.window + std::int64_t{1}) * options.keyframe_interval,
             " are needed to fill the window of ", options.window, " and go on");
      intervals_.push_back(options.keyframe_interval);
    }
  }

  void run() {
    table_.note(settings_.heading());
    table_.columns(kColumns);
    std::vector<std::string> verdicts;
    for (const std::optional<DType>& dtype : settings_.dtypes) {
      const Model model = settings_.make_model(dtype);
      for (const AttentionKind backend : settings_.backends) {
        for (const FrameSize& size : settings_.sizes) {
          for (const int interval : intervals_) verdicts.push_back(measure(model, backend, size, interval));
        }
      }
    }
    for (const std::string& verdict : verdicts) table_.note(verdict);
    if (!failure_.empty()) fail(ErrorCode::resource, failure_);
  }

 private:
  [[nodiscard]] static Usage usage(const Model& model, const Session& session) {
    return {.kept = session.cache_stats().frame_count,
            .device = device_info(model.device()).allocated_bytes,
            .cache = session.cache_bytes()};
  }

  /// Streams and tells of every tenth of the way. Gives the verdict as a line for people.
  std::string measure(const Model& model, AttentionKind backend, const FrameSize& size, int interval) {
    SessionOptions options = settings_.session;
    options.attention = backend;
    options.keyframe_interval = interval;
    const std::vector<Image> frames = make_frames(size, kDifferentFrames);
    Session session(model, options);
    Json row = {{"kind", "memory"}};
    row.update(conditions(settings_, model, session, size));
    row["keyframe_interval"] = interval;

    bool full = false;
    std::optional<Usage> settled;
    const Stopwatch watch;
    double last = 0;
    std::int64_t told = 0;
    for (std::int64_t part = 1; part <= kParts; ++part) {
      const std::int64_t end = flags_.frames * part / kParts;
      for (std::int64_t i = told; i < end; ++i) {
        session.submit(frames[static_cast<std::size_t>(i) % frames.size()]);
        while (session.in_flight() > 1) (void)session.collect();
        // One frame after the window is full, every slot has been used: only what is kept for ever adds up.
        if (full && !settled) settled = usage(model, session);
        full = full || session.cache_stats().live_pages == options.window;
      }
      if (part == kParts) {
        while (session.in_flight() > 0) (void)session.collect();
      }
      if (end == told) continue;
      const double now = watch.seconds();
      const Usage use = usage(model, session);
      row["frames"] = end;
      row["kept"] = use.kept;
      row["device_bytes"] = use.device;
      row["cache_bytes"] = use.cache;
      row["ms_per_frame"] = 1000 * (now - last) / static_cast<double>(end - told);
      table_.add(row);
      last = now;
      told = end;
    }
    check(settled.has_value(), "the window never filled");
    return judge(model, options, size, row, *settled, usage(model, session));
  }

  std::string judge(const Model& model, const SessionOptions& options, const FrameSize& size, const Json& row,
                    const Usage& from, const Usage& to) {
    const std::size_t per_frame = Session::plan(model, options, size.width, size.height).per_kept_frame;
    const auto kept = static_cast<double>(to.kept - from.kept);
    const double device = static_cast<double>(to.device) - static_cast<double>(from.device);
    const double cache = static_cast<double>(to.cache) - static_cast<double>(from.cache);
    const double allowed = kTolerance * kept * static_cast<double>(per_frame);
    const bool holds = cache <= allowed && device <= allowed + static_cast<double>(slack(model, options));
    const std::string verdict =
        message(row["backend"].get<std::string>(), ", ", row["dtype"].get<std::string>(), ", ", size.text(),
                ", keyframe interval ", options.keyframe_interval, ": grew by ", grouped_signed(device / kept),
                " bytes a kept frame on the device and ", grouped_signed(cache / kept), " in the cache, ",
                grouped(per_frame), " by design");
    Json result = row;
    result["kind"] = "memory growth";
    for (const char* key : {"frames", "device_bytes", "cache_bytes", "ms_per_frame"}) result.erase(key);
    result["kept"] = to.kept - from.kept;
    result["device_bytes_per_kept_frame"] = device / kept;
    result["cache_bytes_per_kept_frame"] = cache / kept;
    result["planned_bytes_per_kept_frame"] = per_frame;
    result["holds"] = holds;
    if (settings_.output == OutputFormat::json) table_.add(result);
    if (!holds && failure_.empty()) failure_ = verdict + ", expected at most 5 % more";
    return verdict;
  }

  /// Bytes by which the memory of a GPU may grow beyond what is needed, because it comes in pieces.
  [[nodiscard]] static std::size_t slack(const Model& model, const SessionOptions& options) {
    if (model.device().kind == Device::Kind::cpu) return 0;
    const Config& config = model.config();
    const int planes = 2 * config.depth + 2 * config.camera_trunk_depth * options.camera_iterations;
    return static_cast<std::size_t>(planes) * kGranule;
  }

  [[nodiscard]] static std::string grouped_signed(double value) {
    return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(value < 0 ? -value : value));
  }

  MemoryFlags flags_;
  StreamSettings settings_;
  std::vector<int> intervals_;
  ResultTable table_;
  std::string failure_;
};

}  // namespace

void add_bench_memory(CLI::App& app) {
  const auto flags = std::make_shared<MemoryFlags>();
  CLI::App* command = app.add_subcommand("memory", "Memory over a long stream; fails if it grows more than planned");
  command->footer("Lists have commas and multiply. On the CPU, \"device\" is the resident memory of the process.");
  Flags adder(*command);
  adder.group("Measurement");
  adder.value("--frames", flags->frames, "Length of the stream (10000)", "N");
  adder.value("--keyframe_interval", flags->keyframe_interval, "Every n-th frame is kept (1)", "LIST");
  add_stream_flags(adder, flags->stream);
  command->callback([flags] { BenchMemory(*flags).run(); });
}

}  // namespace lingbot_map::tool
