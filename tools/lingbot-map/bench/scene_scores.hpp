#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "evaluation/depth_map.hpp"
#include "evaluation/trajectory_file.hpp"
#include "lingbot_map/session.hpp"
#include "lingbot_map/types.hpp"
#include "lingbot_map/windowed_session.hpp"
#include "scene/sequence.hpp"

namespace lingbot_map::tool {

/// A generated sequence with its truth, in memory.
struct Recording {
  std::vector<Image> images;
  std::vector<DepthMap> depth;
  Trajectory trajectory{.name = "the truth", .poses = {}, .frame_times = {}};
};

/// What a method says of a sequence.
struct Estimate {
  Trajectory trajectory{.name = "the estimate", .poses = {}, .frame_times = {}};
  std::vector<DepthMap> depth{};
  double seconds = 0;
};

/// The errors of one sequence. Trajectories are aligned by a similarity, depth by one factor.
struct Scores {
  double ate_percent = 0;
  double rotation_degrees = 0;  ///< median over the frames
  double drift_percent = 0;
  double auc_30 = 0;
  double abs_rel = 0;
  double delta_1 = 0;
};

/// Renders on all processors.
[[nodiscard]] Recording record(const scene::Sequence& sequence);

/// The network frame after frame; `seconds` are those from the first frame given to the last one's result.
[[nodiscard]] Estimate reconstruct(const Model& model, const SessionOptions& options,
                                   const std::optional<WindowedOptions>& windowed, const std::vector<Image>& images);

/// What has to be beaten: the camera goes on as it began, and everything is as far away as the rest.
[[nodiscard]] Estimate without_looking(const Recording& truth);

[[nodiscard]] Scores score(const Estimate& estimate, const Recording& truth);

/// Of every error the median.
[[nodiscard]] nlohmann::ordered_json medians(const std::vector<Scores>& all);
/// Every sequence's errors.
[[nodiscard]] nlohmann::ordered_json each(const std::vector<Scores>& all);

}  // namespace lingbot_map::tool
