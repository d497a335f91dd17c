#include "bench/scene_scores.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/message.hpp"
#include "base/parallel.hpp"
#include "bench/statistics.hpp"
#include "evaluation/baselines.hpp"
#include "evaluation/depth_evaluation.hpp"
#include "evaluation/evaluate.hpp"
#include "frame_stream.hpp"
#include "geometry/camera.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, double Scores::*> kScores[] = {{"ate_percent", &Scores::ate_percent},
                                                                {"rotation_degrees", &Scores::rotation_degrees},
                                                                {"drift_percent", &Scores::drift_percent},
                                                                {"auc_30", &Scores::auc_30},
                                                                {"abs_rel", &Scores::abs_rel},
                                                                {"delta_1", &Scores::delta_1}};

void append(Trajectory& trajectory, std::int64_t frame, const Rigid3& world_from_camera) {
  const double time = static_cast<double>(frame) / 10;
  trajectory.poses.push_back({time, frame, world_from_camera});
}

/// Aligned by a similarity; where the estimate stands still or goes straight on, so that there is none, as it is.
TrajectoryEvaluation evaluate_path(const Trajectory& estimate, const Trajectory& truth) {
  try {
    return evaluate(estimate, truth);
  } catch (const Error&) {
    return evaluate(estimate, truth, {.alignment = Alignment::none});
  }
}

}  // namespace

Recording record(const scene::Sequence& sequence) {
  const auto frames = static_cast<std::size_t>(sequence.frames());
  Recording recording{.images = std::vector<Image>(frames), .depth = std::vector<DepthMap>(frames)};
  in_parts(frames, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      scene::RenderedFrame frame = sequence.frame(static_cast<int>(i));
      recording.depth[i] = {frame.colour.width, frame.colour.height, std::move(frame.depth)};
      recording.images[i] = std::move(frame.colour);
    }
  });
  for (std::size_t i = 0; i < frames; ++i) {
    append(recording.trajectory, static_cast<std::int64_t>(i), sequence.path()[i]);
    recording.trajectory.frame_times.push_back(static_cast<double>(i) / 10);
  }
  return recording;
}

Estimate reconstruct(const Model& model, const SessionOptions& options, const std::optional<WindowedOptions>& windowed,
                     const std::vector<Image>& images) {
  Estimate estimate;
  const auto take = [&estimate](std::vector<FrameResult> results) {
    for (FrameResult& result : results) {
      if (const auto pose = world_from_camera(result.pose_enc)) append(estimate.trajectory, result.index, *pose);
      estimate.trajectory.frame_times.push_back(static_cast<double>(result.index) / 10);
      estimate.depth.push_back({result.width, result.height, std::move(result.depth)});
    }
  };
  const std::unique_ptr<FrameStream> stream = open_stream(model, options, windowed);
  const Stopwatch watch;
  for (const Image& image : images) {
    stream->submit(image);
    while (stream->in_flight() > 1) take(stream->collect());
  }
  take(stream->finish());
  estimate.seconds = watch.seconds();
  return estimate;
}

Estimate without_looking(const Recording& truth) {
  const DepthMap& first = truth.depth.front();
  return {.trajectory = constant_velocity(truth.trajectory),
          .depth = std::vector<DepthMap>(truth.depth.size(), constant_depth(first.width, first.height, 1))};
}

Scores score(const Estimate& estimate, const Recording& truth) {
  const TrajectoryEvaluation path = evaluate_path(estimate.trajectory, truth.trajectory);
  const DepthEvaluation depth = evaluate_depth(truth.depth.size(), [&](std::size_t i) {
    return DepthPair{message("frame ", i), static_cast<std::int64_t>(i), estimate.depth[i], truth.depth[i]};
  });
  return {.ate_percent = path.ate_percent,
          .rotation_degrees = path.orientation.median,
          .drift_percent = path.drift_percent,
          .auc_30 = path.auc.at_30,
          .abs_rel = depth.all.abs_rel,
          .delta_1 = depth.all.delta_1};
}

Json medians(const std::vector<Scores>& all) {
  Json json;
  for (const auto& [name, member] : kScores) {
    std::vector<double> values;
    for (const Scores& scores : all) values.push_back(scores.*member);
    json[name] = Statistics::of(values).median;
  }
  return json;
}

Json each(const std::vector<Scores>& all) {
  Json json = Json::array();
  for (const Scores& scores : all) {
    Json entry;
    for (const auto& [name, member] : kScores) entry[name] = scores.*member;
    json.push_back(entry);
  }
  return json;
}

}  // namespace lingbot_map::tool
