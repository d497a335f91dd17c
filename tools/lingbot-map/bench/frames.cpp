#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/message.hpp"
#include "bench/bench.hpp"
#include "bench/statistics.hpp"
#include "bench/streams.hpp"
#include "choices.hpp"
#include "lingbot_map/device_info.hpp"
#include "stage_table.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDifferentFrames = 8;
constexpr double kMilliseconds = 1000;

struct FramesFlags {
  StreamFlags stream;
  std::string depth = "72";
  int repeats = 50;
  int warmup = 5;
  bool profile = false;
};

const std::vector<Column> kColumns = {{"backend", "/backend"},
                                      {"dtype", "/dtype"},
                                      {"size", "/size"},
                                      {"kept", "/kept"},
                                      {"ms a frame", "/ms_per_frame"},
                                      {"median", "/interval_ms/median"},
                                      {"p99", "/interval_ms/p99"},
                                      {"deviation", "/interval_ms/deviation"},
                                      {"frames/s", "/frames_per_second"},
                                      {"latency ms", "/latency_ms/median"},
                                      {"latency p99", "/latency_ms/p99"},
                                      {"device GB", "/device_bytes", 1e-9},
                                      {"peak GB", "/device_peak_bytes", 1e-9},
                                      {"cache GB", "/cache_bytes", 1e-9}};

const std::vector<Column> kStageColumns = {{"stages, ms", "/backend"},
                                           {"dtype", "/dtype"},
                                           {"size", "/size"},
                                           {"kept", "/kept"},
                                           {"encoder", "/stages_ms/encoder"},
                                           {"frame attention", "/stages_ms/frame_attention"},
                                           {"global attention", "/stages_ms/global_attention"},
                                           {"camera", "/stages_ms/camera"},
                                           {"depth", "/stages_ms/depth"},
                                           {"copies and the rest", "/stages_ms/rest"},
                                           {"all", "/stages_ms/all"}};

/// A session past its scale pass that frames are timed in.
class Stream {
 public:
  Stream(const Model& model, const SessionOptions& options, const FrameSize& size)
      : session_(model, options), frames_(make_frames(size, kDifferentFrames)) {
    const Stopwatch watch;
    for (int i = 0; i < options.scale_frames; ++i) (void)session_.push(next());
    scale_seconds_ = watch.seconds();
  }

  [[nodiscard]] Session& session() noexcept { return session_; }
  [[nodiscard]] double scale_seconds() const noexcept { return scale_seconds_; }

  /// Fills the cache up to so many kept frames, if there are fewer.
  void fill(std::int64_t depth) {
    const std::int64_t missing = depth - session_.cache_stats().frame_count;
    if (missing > 0) session_.prefill(missing);
  }
  /// Seconds from a frame's way in to its results, one frame at a time.
  std::vector<double> latencies(int count) {
    std::vector<double> seconds;
    for (int i = 0; i < count; ++i) {
      const Stopwatch watch;
      (void)session_.push(next());
      seconds.push_back(watch.seconds());
    }
    return seconds;
  }
  /// Seconds from results to results while the next frame is always on its way.
  std::vector<double> intervals(int count) {
    std::vector<double> seconds;
    session_.submit(next());
    const Stopwatch watch;
    double last = 0;
    for (int i = 0; i < count; ++i) {
      session_.submit(next());
      (void)session_.collect();
      const double now = watch.seconds();
      seconds.push_back(now - last);
      last = now;
    }
    (void)session_.collect();
    return seconds;
  }

 private:
  const Image& next() { return frames_[next_++ % frames_.size()]; }

  Session session_;
  std::vector<Image> frames_;
  std::size_t next_ = 0;
  double scale_seconds_ = 0;
};

class BenchFrames {
 public:
  explicit BenchFrames(const FramesFlags& flags)
      : flags_(flags),
        settings_(StreamSettings::of(flags.stream)),
        table_(std::cout, settings_.output, machine_json(settings_.device.to_string())) {
    require_at_least_one("--repeats", flags.repeats);
    for (const std::string& depth : list_of("--depth", flags.depth))
      depths_.push_back(whole_number("--depth", depth, 1));
    std::sort(depths_.begin(), depths_.end());
  }

  void run() {
    table_.note(settings_.heading());
    table_.columns(kColumns);
    std::vector<Json> profiled;
    for (const std::optional<DType>& dtype : settings_.dtypes) {
      const Model model = settings_.make_model(dtype);
      for (const AttentionKind backend : settings_.backends) {
        for (const FrameSize& size : settings_.sizes) {
          std::vector<Json> results = measure(model, backend, size);
          if (flags_.profile) add_stages(model, backend, size, results);
          for (const Json& result : results) table_.add(result);
          profiled.insert(profiled.end(), results.begin(), results.end());
        }
      }
    }
    if (!flags_.profile || settings_.output == OutputFormat::json) return;
    table_.columns(kStageColumns);
    for (const Json& result : profiled) table_.add(result);
  }

 private:
  [[nodiscard]] SessionOptions options(AttentionKind backend, bool profile) const {
    SessionOptions options = settings_.session;
    options.attention = backend;
    options.profile = profile;
    return options;
  }

  std::vector<Json> measure(const Model& model, AttentionKind backend, const FrameSize& size) {
    Stream stream(model, options(backend, false), size);
    std::vector<Json> results;
    for (const std::int64_t depth : depths_) {
      stream.fill(depth);
      (void)stream.latencies(flags_.warmup);
      Json result = {{"kind", "frames"}};
      result.update(conditions(settings_, model, stream.session().attention(), size));
      result["depth"] = depth;
      result["kept"] = stream.session().cache_stats().frame_count;
      result["warmup"] = flags_.warmup;
      result["repeats"] = flags_.repeats;
      result["scale_pass_ms"] = kMilliseconds * stream.scale_seconds();
      const Statistics intervals = Statistics::of(stream.intervals(flags_.repeats));
      result["ms_per_frame"] = kMilliseconds * intervals.mean;
      result["frames_per_second"] = 1 / intervals.mean;
      result["interval_ms"] = intervals.json(kMilliseconds);
      result["latency_ms"] = Statistics::of(stream.latencies(flags_.repeats)).json(kMilliseconds);
      const DeviceInfo device = device_info(model.device());
      result["device_bytes"] = device.allocated_bytes;
      result["device_peak_bytes"] = device.peak_bytes;
      result["cache_bytes"] = stream.session().cache_bytes();
      result["weight_bytes"] = model.weight_bytes();
      results.push_back(std::move(result));
    }
    return results;
  }

  /// In a session of its own, because timing the stages may cost speed.
  void add_stages(const Model& model, AttentionKind backend, const FrameSize& size, std::vector<Json>& results) {
    Stream stream(model, options(backend, true), size);
    for (Json& result : results) {
      stream.fill(result["depth"]);
      (void)stream.latencies(flags_.warmup);
      const StageTimes before = stream.session().stage_times();
      const double all = Statistics::of(stream.latencies(flags_.repeats)).mean;
      const StageTimes after = stream.session().stage_times();
      const auto mean = [this](double later, double earlier) { return (later - earlier) / flags_.repeats; };
      const StageTimes stages = {.encoder = mean(after.encoder, before.encoder),
                                 .frame_attention = mean(after.frame_attention, before.frame_attention),
                                 .global_attention = mean(after.global_attention, before.global_attention),
                                 .camera = mean(after.camera, before.camera),
                                 .depth = mean(after.depth, before.depth)};
      Json json = stages_json(stages);
      double rest = all;
      for (Json& stage : json) {
        rest -= stage.get<double>();
        stage = kMilliseconds * stage.get<double>();
      }
      json["rest"] = kMilliseconds * std::max(rest, 0.0);
      json["all"] = kMilliseconds * all;
      result["stages_ms"] = json;
    }
  }

  FramesFlags flags_;
  StreamSettings settings_;
  std::vector<std::int64_t> depths_;
  ResultTable table_;
};

}  // namespace

void add_bench_frames(CLI::App& app) {
  const auto flags = std::make_shared<FramesFlags>();
  CLI::App* command = app.add_subcommand("frames", "Time of a streamed frame with a filled cache");
  command->footer(
      "Lists have commas and multiply. \"ms a frame\" is with the next frame always on its way, latency one by one.");
  Flags adder(*command);
  adder.group("Measurement");
  adder.value("--depth", flags->depth, "Frames kept in the cache before the timing (72)", "LIST");
  adder.value("--repeats", flags->repeats, "Frames timed (50)", "N");
  adder.value("--warmup", flags->warmup, "Frames before them (5)", "N")->check(CLI::NonNegativeNumber);
  adder.flag("--profile", flags->profile, "Time the stages as well, in a second session");
  add_stream_flags(adder, flags->stream);
  command->callback([flags] { BenchFrames(*flags).run(); });
}

}  // namespace lingbot_map::tool
