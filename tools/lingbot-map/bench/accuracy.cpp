#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "bench/bench.hpp"
#include "bench/scene_scores.hpp"
#include "bench/streams.hpp"
#include "choices.hpp"
#include "default_model.hpp"
#include "scene/sequence.hpp"
#include "window_flags.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

struct AccuracyFlags {
  StreamFlags stream;
  std::string kind = "room,corridor,street,orbit";
  int scenes = 20;
  int frames = 200;
  std::string first_seed = "0";
  int keyframe_interval = 1;
  bool no_trajectory_memory = false;
  std::string mode = "streaming";
  WindowFlags windows;
};

const std::vector<Column> kColumns = {{"method", "/method"},
                                      {"dtype", "/dtype"},
                                      {"backend", "/backend"},
                                      {"kind", "/scene_kind"},
                                      {"scenes", "/scenes"},
                                      {"frames", "/frames"},
                                      {"ATE, % of path", "/median/ate_percent"},
                                      {"rotation, degrees", "/median/rotation_degrees"},
                                      {"drift, % of path", "/median/drift_percent"},
                                      {"AUC@30", "/median/auc_30", 1, 3},
                                      {"AbsRel", "/median/abs_rel", 1, 3},
                                      {"delta < 1.25", "/median/delta_1", 1, 3},
                                      {"frames/s", "/frames_per_second"}};

class BenchAccuracy {
 public:
  explicit BenchAccuracy(AccuracyFlags flags)
      : flags_(std::move(flags)),
        first_seed_(static_cast<std::uint64_t>(whole_number("--first_seed", flags_.first_seed, 0))),
        settings_(StreamSettings::of(with_model(flags_.stream))),
        table_(std::cout, settings_.output, machine_json(settings_.device.to_string())) {
    require_at_least_one("--scenes", flags_.scenes);
    require_at_least_one("--keyframe_interval", flags_.keyframe_interval);
    if (flags_.frames < 3) fail(ErrorCode::usage, "--frames: found ", flags_.frames, ", expected 3 or more");
    for (const std::string& name : list_of("--kind", flags_.kind)) {
      const auto kind = scene::scene_kind(name);
      if (!kind) fail(ErrorCode::usage, "--kind: found \"", name, "\", expected room, corridor, street or orbit");
      kinds_.push_back(*kind);
    }
    settings_.session.keyframe_interval = flags_.keyframe_interval;
    settings_.session.trajectory_memory = !flags_.no_trajectory_memory;
    if (choice("--mode", flags_.mode, {"streaming", "windowed"}) == 1)
      windowed_ = windowed_options(flags_.windows, {.session = settings_.session});
    else
      require_no_window_flags(flags_.windows);
  }

  void run() {
    table_.note(settings_.heading());
    table_.columns(kColumns);
    for (const FrameSize& size : settings_.sizes) {
      bool compared = false;
      for (const std::optional<DType>& dtype : settings_.dtypes) {
        const Model model = settings_.make_model(dtype);
        for (const AttentionKind backend : settings_.backends) {
          SessionOptions options = settings_.session;
          options.attention = backend;
          std::optional<WindowedOptions> windowed = windowed_;
          if (windowed) windowed->session = options;
          Json entries = {{"method", method_name()}};
          entries.update(conditions(settings_, model, Session(model, options).attention(), size));
          entries["keyframe_interval"] = options.keyframe_interval;
          entries["trajectory_memory"] = options.trajectory_memory;
          if (windowed) entries["windows"] = windows_json(*windowed);
          // Only now, so that a model or a device that cannot be used is told at once.
          if (!std::exchange(compared, true)) {
            measure(size, {{"method", "constant velocity, mean depth"}}, without_looking);
          }
          measure(size, entries,
                  [&](const Recording& truth) { return reconstruct(model, options, windowed, truth.images); });
        }
      }
    }
  }

 private:
  [[nodiscard]] std::string method_name() const {
    std::string name = "lingbot-map";
    if (windowed_) {
      const auto [frames, overlap] = WindowedSession::extent(*windowed_);
      name += message(", windows of ", frames, ", ", overlap, " in common");
    }
    if (flags_.no_trajectory_memory) name += ", no trajectory memory";
    return name;
  }

  static Json windows_json(const WindowedOptions& windowed) {
    const auto [frames, overlap] = WindowedSession::extent(windowed);
    return {{"frames", frames},
            {"overlap", overlap},
            {"alignment", windowed.alignment == WindowAlignment::exact ? "exact" : "robust"}};
  }

  /// The model that comes with the program, unless another or a configuration is named.
  static StreamFlags with_model(StreamFlags flags) {
    if (flags.model_path.empty() && flags.config.empty()) flags.model_path = default_model().string();
    return flags;
  }

  template <typename Method>
  void measure(const FrameSize& size, const Json& entries, const Method& method) {
    std::vector<Scores> all;
    double seconds = 0;
    for (const scene::SceneKind kind : kinds_) {
      std::vector<Scores> of_kind;
      double seconds_of_kind = 0;
      for (int i = 0; i < flags_.scenes; ++i) {
        const Recording truth = record(scene::Sequence({.kind = kind,
                                                        .seed = first_seed_ + static_cast<std::uint64_t>(i),
                                                        .frames = flags_.frames,
                                                        .width = size.width,
                                                        .height = size.height}));
        const Estimate estimate = method(truth);
        seconds_of_kind += estimate.seconds;
        of_kind.push_back(score(estimate, truth));
      }
      report(entries, std::string(scene::name_of(kind)), of_kind, seconds_of_kind);
      all.insert(all.end(), of_kind.begin(), of_kind.end());
      seconds += seconds_of_kind;
    }
    if (kinds_.size() > 1) report(entries, "all", all, seconds);
  }

  void report(const Json& entries, const std::string& kind, const std::vector<Scores>& scores, double seconds) {
    Json result = {{"kind", "accuracy"}};
    result.update(entries);
    result["scene_kind"] = kind;
    result["first_seed"] = first_seed_;
    result["scenes"] = scores.size();
    result["frames"] = flags_.frames;
    result["median"] = medians(scores);
    if (seconds > 0) result["frames_per_second"] = static_cast<double>(scores.size()) * flags_.frames / seconds;
    if (kind != "all") result["each"] = each(scores);
    table_.add(result);
  }

  AccuracyFlags flags_;
  std::uint64_t first_seed_;
  StreamSettings settings_;
  std::vector<scene::SceneKind> kinds_;
  std::optional<WindowedOptions> windowed_;
  ResultTable table_;
};

}  // namespace

void add_bench_accuracy(CLI::App& app) {
  const auto flags = std::make_shared<AccuracyFlags>();
  flags->stream.size = "168x126";
  CLI::App* command = app.add_subcommand("accuracy", "Errors on generated scenes whose cameras and depth are known");
  command->footer(
      "Each number is the median over the scenes. Trajectories are aligned by a similarity, depth by one factor a "
      "sequence. Scenes of seeds below 1000000 are never used in training.");
  Flags adder(*command);
  adder.group("Scenes");
  adder.value("--kind", flags->kind, "Of scenes: room, corridor, street, orbit (all)", "LIST");
  adder.value("--scenes", flags->scenes, "Scenes of each kind (20)", "N");
  adder.value("--frames", flags->frames, "Frames of each scene (200)", "N");
  adder.value("--first_seed", flags->first_seed, "Of the first scene; the next ones follow (0)", "N");
  adder.group("Cache");
  adder.value("--keyframe_interval", flags->keyframe_interval, "Every n-th frame is kept (1)", "N");
  adder.flag("--no_trajectory_memory", flags->no_trajectory_memory,
             "Forget the special tokens of a keyframe with its patches");
  adder.value("--mode", flags->mode, "One stream (the default), or windows that each begin anew", "streaming|windowed");
  add_window_flags(adder, flags->windows, "Windows (--mode windowed)");
  add_stream_flags(adder, flags->stream, UnnamedModel::bundled);
  command->callback([flags] { BenchAccuracy(*flags).run(); });
}

}  // namespace lingbot_map::tool
