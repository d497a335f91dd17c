#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "bench/streams.hpp"
#include "choices.hpp"
#include "frame_stream.hpp"
#include "lingbot_map/device_info.hpp"
#include "memory_plan.hpp"
#include "stopwatch.hpp"
#include "window_flags.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDifferentFrames = 16;
constexpr std::int64_t kParts = 10;
constexpr double kTolerance = 1.05;
/// An allocator keeps some of what was freed, and gives it back when it likes.
constexpr std::size_t kKeptByAllocator = std::size_t{4} << 20;
/// Windows after which another one takes what earlier ones have given back.
constexpr std::int64_t kSettledWindows = 2;
constexpr std::size_t kKeptColumn = 5;
/// A GPU maps memory in pieces of this size, so that what a plane grew by may be off by one of them.
constexpr std::size_t kGranule = std::size_t{2} << 20;

struct MemoryFlags {
  StreamFlags stream;
  std::int64_t frames = 10'000;
  std::string keyframe_interval = "1";
  std::string mode = "streaming";
  WindowFlags windows;
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

/// The streams that are measured: one for each keyframe interval.
struct Setting {
  SessionOptions session;
  std::optional<WindowedOptions> windowed;  ///< of that session; unset: streaming mode
};

struct Usage {
  std::int64_t frames = 0;
  std::int64_t kept = 0;  ///< in windowed mode by the current window
  std::size_t device = 0;
  std::size_t cache = 0;
};

/// What a stream may take more of the longer it is.
struct Design {
  std::string_view unit;  ///< of what adds up
  double per_unit = 0;    ///< bytes
  /// Bytes by which the device's memory may be off at any time, however long the stream is.
  std::size_t slack = 0;
};

class BenchMemory {
 public:
  explicit BenchMemory(const MemoryFlags& flags)
      : flags_(flags),
        settings_(StreamSettings::of(flags.stream)),
        windowed_(choice("--mode", flags.mode, {"streaming", "windowed"}) == 1),
        table_(std::cout, settings_.output, machine_json(settings_.device.to_string())) {
    if (!windowed_) require_no_window_flags(flags.windows);
    for (const std::string& text : list_of("--keyframe_interval", flags.keyframe_interval)) {
      Setting setting{.session = settings_.session, .windowed = {}};
      setting.session.keyframe_interval =
          static_cast<int>(std::min<std::int64_t>(whole_number("--keyframe_interval", text, 1), 1 << 30));
      if (windowed_) setting.windowed = windowed_options(flags.windows, {.session = setting.session});
      require_enough_frames(setting);
      streams_.push_back(setting);
    }
  }

  void run() {
    table_.note(settings_.heading());
    table_.columns(columns());
    std::vector<std::string> verdicts;
    for (const std::optional<DType>& dtype : settings_.dtypes) {
      const Model model = settings_.make_model(dtype);
      for (const AttentionKind backend : settings_.backends) {
        for (const FrameSize& size : settings_.sizes) {
          for (const Setting& setting : streams_) verdicts.push_back(measure(model, backend, size, setting));
        }
      }
    }
    for (const std::string& verdict : verdicts) table_.note(verdict);
    if (!failure_.empty()) fail(ErrorCode::resource, failure_);
  }

 private:
  void require_enough_frames(const Setting& setting) const {
    const SessionOptions& session = setting.session;
    if (setting.windowed) {
      const auto [frames, overlap] = WindowedSession::extent(*setting.windowed);
      if (const std::int64_t least = frames + kSettledWindows * (frames - overlap); flags_.frames <= least)
        fail(ErrorCode::usage, "--frames: found ", flags_.frames, ", but at --keyframe_interval ",
             session.keyframe_interval, " more than ", least, " are needed for ", kSettledWindows + 1, " windows of ",
             frames, " frames, ", overlap, " of them in common, and to go on");
      return;
    }
    if (kept_frames(flags_.frames, session) - session.scale_frames <= session.window + 1)
      fail(ErrorCode::usage, "--frames: found ", flags_.frames, ", but at --keyframe_interval ",
           session.keyframe_interval, " more than ",
           session.scale_frames + (session.window + std::int64_t{1}) * session.keyframe_interval,
           " are needed to fill the window of ", session.window, " and go on");
  }

  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> columns = kColumns;
    if (windowed_) columns[kKeptColumn] = {"windows", "/windows"};
    return columns;
  }

  [[nodiscard]] static Usage usage(const Model& model, const FrameStream& stream) {
    return {.frames = stream.frames_pushed(),
            .kept = stream.cache_stats().frame_count,
            .device = device_info(model.device()).allocated_bytes,
            .cache = stream.cache_bytes()};
  }

  /// Whether from the next frame on only what is kept for ever adds up: every slot of the window has been used, or
  /// windows have begun and ended.
  [[nodiscard]] static bool is_full(const FrameStream& stream, const Setting& setting) {
    if (setting.windowed) return std::ssize(stream.windows()) > kSettledWindows;
    return stream.cache_stats().live_pages == setting.session.window;
  }

  /// Streams and tells of every tenth of the way. Gives the verdict as a line for people.
  std::string measure(const Model& model, AttentionKind backend, const FrameSize& size, Setting setting) {
    setting.session.attention = backend;
    if (setting.windowed) setting.windowed->session.attention = backend;
    const std::vector<Image> frames = make_frames(size, kDifferentFrames);
    const std::unique_ptr<FrameStream> stream = open_stream(model, setting.session, setting.windowed);
    Json row = first_entries(model, *stream, size, setting);

    bool full = false;
    std::optional<Usage> settled;
    const Stopwatch watch;
    double last = 0;
    std::int64_t told = 0;
    for (std::int64_t part = 1; part <= kParts; ++part) {
      const std::int64_t end = flags_.frames / kParts * part + flags_.frames % kParts * part / kParts;
      for (std::int64_t i = told; i < end; ++i) {
        stream->submit(frames[static_cast<std::size_t>(i) % frames.size()]);
        while (stream->in_flight() > 1) (void)stream->collect();
        if (full && !settled) settled = usage(model, *stream);
        full = full || is_full(*stream, setting);
      }
      if (part == kParts) (void)stream->drain();
      if (end == told) continue;
      const double now = watch.seconds();
      const Usage use = usage(model, *stream);
      row["frames"] = end;
      row["kept"] = use.kept;
      if (windowed_) row["windows"] = stream->windows().size();
      row["device_bytes"] = use.device;
      row["cache_bytes"] = use.cache;
      row["ms_per_frame"] = 1000 * (now - last) / static_cast<double>(end - told);
      table_.add(row);
      last = now;
      told = end;
    }
    check(settled.has_value(), "the window never filled");
    return judge(design(model, setting, size), size, row, *settled, usage(model, *stream));
  }

  [[nodiscard]] Json first_entries(const Model& model, const FrameStream& stream, const FrameSize& size,
                                   const Setting& setting) const {
    Json row = {{"kind", "memory"}};
    row.update(conditions(settings_, model, stream.attention(), size));
    row["keyframe_interval"] = setting.session.keyframe_interval;
    row["mode"] = flags_.mode;
    if (setting.windowed) {
      row["window_size"] = setting.windowed->window_size;
      row["overlap"] = WindowedSession::extent(*setting.windowed).overlap;
      row["window_alignment"] = std::string(name_of(setting.windowed->alignment));
    }
    return row;
  }

  [[nodiscard]] static Design design(const Model& model, const Setting& setting, const FrameSize& size) {
    const bool on_cpu = model.device().kind == Device::Kind::cpu;
    const Config& config = model.config();
    const int planes = 2 * config.depth + 2 * config.camera_trunk_depth * setting.session.camera_iterations;
    const std::size_t pieces = on_cpu ? 0 : static_cast<std::size_t>(planes) * kGranule;
    if (!setting.windowed) {
      const MemoryPlan plan = Session::plan(model, setting.session, size.width, size.height);
      return {.unit = "kept frame", .per_unit = static_cast<double>(plan.per_kept_frame), .slack = pieces};
    }
    const auto [frames, overlap] = WindowedSession::extent(*setting.windowed);
    // What waits where windows meet is there at some frames and not at others.
    const std::size_t held = common_frames_bytes(overlap, size.width, size.height, config.has_point_head);
    return {.unit = "frame",
            .per_unit = static_cast<double>(sizeof(WindowRecord)) / static_cast<double>(frames - overlap),
            .slack = on_cpu ? held + kKeptByAllocator : pieces};
  }

  std::string judge(const Design& design, const FrameSize& size, const Json& row, const Usage& from, const Usage& to) {
    const std::int64_t added = windowed_ ? to.frames - from.frames : to.kept - from.kept;
    const auto count = static_cast<double>(added);
    const double device = static_cast<double>(to.device) - static_cast<double>(from.device);
    const double cache = static_cast<double>(to.cache) - static_cast<double>(from.cache);
    const double allowed = kTolerance * count * design.per_unit;
    const bool holds = cache <= allowed && device <= allowed + static_cast<double>(design.slack);
    std::string verdict = message(row["backend"].get<std::string>(), ", ", row["dtype"].get<std::string>(), ", ",
                                  size.text(), ", keyframe interval ", row["keyframe_interval"].get<int>(),
                                  ": grew by ", grouped_signed(device / count), " bytes a ", design.unit,
                                  " on the device and ", grouped_signed(cache / count), " in the cache, ",
                                  grouped(static_cast<std::uint64_t>(std::llround(design.per_unit))), " by design");
    if (windowed_)
      verdict += message(", in windows of ", row["window_size"].get<int>(), ", ", row["overlap"].get<std::int64_t>(),
                         " frames in common");
    Json result = row;
    result["kind"] = "memory growth";
    for (const char* key : {"frames", "kept", "windows", "device_bytes", "cache_bytes", "ms_per_frame"})
      result.erase(key);
    const std::string per = windowed_ ? "per_frame" : "per_kept_frame";
    result[windowed_ ? "frames" : "kept"] = added;
    result["device_bytes_" + per] = device / count;
    result["cache_bytes_" + per] = cache / count;
    result["planned_bytes_" + per] = design.per_unit;
    result["holds"] = holds;
    if (settings_.output == OutputFormat::json) table_.add(result);
    if (!holds && failure_.empty()) failure_ = verdict + ", expected at most 5 % more";
    return verdict;
  }

  [[nodiscard]] static std::string grouped_signed(double value) {
    return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(value < 0 ? -value : value));
  }

  MemoryFlags flags_;
  StreamSettings settings_;
  bool windowed_;
  std::vector<Setting> streams_;
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
  adder.value("--mode", flags->mode, "One stream (the default), or windows that each begin anew", "streaming|windowed");
  add_window_flags(adder, flags->windows, "Windows (--mode windowed)");
  add_stream_flags(adder, flags->stream);
  command->callback([flags] { BenchMemory(*flags).run(); });
}

}  // namespace lingbot_map::tool
