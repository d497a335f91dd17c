#include "saved_run.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kVersion = 2;

/// Flags that may differ when a run goes on: where input, model and output are found (what they hold is compared),
/// where and how it is computed, and what concerns only frames that are still to come. on_collapse is one of these, but
/// for reset, which needs another session.
constexpr std::array<std::string_view, 15> kMayDiffer = {
    "image_folder", "video_path",      "model_path",       "config",       "keyframe_interval_is_automatic",
    "backend",      "device",          "threads",          "graphs",       "profile",
    "output",       "skip_bad_frames", "checkpoint_every", "sky_mask_dir", "on_collapse"};

constexpr std::string_view kAnew = "; give what it was begun with, or leave --resume out to begin anew";

/// A value deep inside; null where there is none.
Json at(const Json& json, const char* object, const char* key) {
  const auto found = json.find(object);
  return found != json.end() && found->is_object() && found->contains(key) ? found->at(key) : Json();
}

std::string shown(const Json& value) {
  if (value.is_null()) return "none";
  return printable(value.is_string() ? value.get<std::string>()
                                     : value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Json seconds_json(const RunReport::Seconds& seconds) {
  return {{"load", seconds.load},   {"decode", seconds.decode}, {"inference", seconds.inference},
          {"write", seconds.write}, {"stream", seconds.stream}, {"total", seconds.total}};
}

RunReport::Seconds seconds_of(const JsonFields& fields) {
  return {.load = fields.number("load"),
          .decode = fields.number("decode"),
          .inference = fields.number("inference"),
          .write = fields.number("write"),
          .stream = fields.number("stream"),
          .total = fields.number("total")};
}

Json stages_json(const StageTimes& stages) {
  return {{"encoder", stages.encoder},
          {"frame_attention", stages.frame_attention},
          {"global_attention", stages.global_attention},
          {"camera", stages.camera},
          {"depth", stages.depth}};
}

StageTimes stages_of(const JsonFields& fields) {
  return {.encoder = fields.number("encoder"),
          .frame_attention = fields.number("frame_attention"),
          .global_attention = fields.number("global_attention"),
          .camera = fields.number("camera"),
          .depth = fields.number("depth")};
}

Json sky_json(const std::optional<SkyReport>& sky) {
  if (!sky) return nullptr;
  return {
      {"made", sky->made}, {"reused", sky->reused}, {"sum_of_shares", sky->sum_of_shares}, {"seconds", sky->seconds}};
}

std::optional<SkyReport> sky_of(const JsonFields& run) {
  if (!run.has("sky") || run.json().at("sky").is_null()) return std::nullopt;
  const JsonFields fields = run.object("sky");
  SkyReport sky;
  sky.made = fields.integer("made", 0, kMost / 2);
  sky.reused = fields.integer("reused", 0, kMost / 2);
  sky.sum_of_shares = fields.number("sum_of_shares");
  sky.seconds = fields.number("seconds");
  return sky;
}

RunReport::Counts counts_of(const JsonFields& fields) {
  RunReport::Counts counts{.frames = fields.integer("frames", 1, kMost)};
  counts.scale_frames = fields.integer("scale_frames", 0, counts.frames);
  counts.keyframes = fields.integer("keyframes", 0, counts.frames);
  counts.non_keyframes = fields.integer("non_keyframes", 0, counts.frames);
  return counts;
}

}  // namespace

Json to_json(const SavedRun& run) {
  return {{"version", kVersion},
          {"identity", run.identity},
          {"position",
           {{"source_index", run.position.source_index},
            {"timestamp", run.position.timestamp},
            {"name", run.position.name}}},
          {"left_out", run.left_out},
          {"counts",
           {{"frames", run.counts.frames},
            {"scale_frames", run.counts.scale_frames},
            {"keyframes", run.counts.keyframes},
            {"non_keyframes", run.counts.non_keyframes}}},
          {"seconds", seconds_json(run.seconds)},
          {"stages", stages_json(run.stages)},
          {"sky", sky_json(run.sky)},
          {"start", run.start},
          {"collapses", run.collapses},
          {"output", run.output}};
}

SavedRun saved_run_of(const JsonFields& fields) {
  if (const auto version = fields.integer("version", 0, kMost); version != kVersion)
    fail(ErrorCode::input, fields.source(), ": is of version ", version, ", expected ", kVersion,
         "; go on with the program that saved it, or begin the run anew");
  const JsonFields position = fields.object("position");
  return {.identity = fields.object("identity").json(),
          .position = {.source_index = position.integer("source_index", 0, kMost - 1),
                       .timestamp = position.number("timestamp"),
                       .name = position.text("name")},
          .left_out = fields.texts("left_out"),
          .counts = counts_of(fields.object("counts")),
          .seconds = seconds_of(fields.object("seconds")),
          .stages = stages_of(fields.object("stages")),
          .sky = sky_of(fields),
          .start = fields.text("start"),
          .collapses = fields.object("collapses").json(),
          .output = fields.object("output").json()};
}

Json identity_of(const Json& report) {
  Json identity;
  identity["program"] = {{"version", at(report, "program", "version")}, {"commit", at(report, "program", "commit")}};
  identity["settings"] = report.contains("settings") ? report.at("settings") : Json::object();
  identity["checkpoint"] = {{"fingerprint", at(report, "checkpoint", "fingerprint")}};
  identity["sky"] = {{"sha256", at(report, "sky", "sha256")}};
  Json& input = identity["input"];
  for (const char* key : {"expected_frames", "width", "height", "fingerprint", "cameras_fingerprint"})
    input[key] = at(report, "input", key);
  return identity;
}

void require_same_run(const Json& saved, const Json& here, const std::string& source) {
  for (const auto& item : here.at("settings").items()) {
    const Json before = at(saved, "settings", item.key().c_str());
    const bool resets = item.key() == "on_collapse" && (before == "reset" || item.value() == "reset");
    if (!resets && std::ranges::find(kMayDiffer, item.key()) != kMayDiffer.end()) continue;
    // Known cameras may lie elsewhere now; their numbers are compared below.
    if (item.key() == "intrinsics" && before.is_string() && item.value().is_string()) continue;
    if (before != item.value())
      fail(ErrorCode::usage, "--", item.key(), ": found ", shown(item.value()), ", but the run in ", source, " has ",
           shown(before), kAnew);
  }
  const auto require = [&](const char* object, const char* key, const std::string& what) {
    const Json before = at(saved, object, key);
    const Json now = at(here, object, key);
    if (before != now)
      fail(ErrorCode::input, what, ": found ", shown(now), ", but the run in ", source, " has ", shown(before), kAnew);
  };
  require("checkpoint", "fingerprint", "the fingerprint of the model");
  require("sky", "sha256", "the SHA-256 of the sky model");
  require("input", "expected_frames", "the number of frames of the input");
  require("input", "width", "the width of the network's input");
  require("input", "height", "the height of the network's input");
  require("input", "fingerprint", "the fingerprint of the input (names and sizes of its files)");
  require("input", "cameras_fingerprint", "the fingerprint of the cameras of --intrinsics");
}

std::string numeric_differences(const Json& saved, const Json& here) {
  std::string differences;
  for (const auto& [object, key] :
       {std::pair{"settings", "device"}, std::pair{"settings", "backend"}, std::pair{"program", "commit"}}) {
    const Json before = at(saved, object, key);
    const Json now = at(here, object, key);
    if (before == now) continue;
    if (!differences.empty()) differences += ", ";
    differences += message(key, " is ", shown(now), " and was ", shown(before));
  }
  return differences;
}

}  // namespace lingbot_map::tool
