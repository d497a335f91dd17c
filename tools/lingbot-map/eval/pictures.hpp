#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "evaluation/depth_evaluation.hpp"
#include "evaluation/evaluate.hpp"

/// What of `eval` reads and writes pictures. In a build without media all throw Error(unsupported).
namespace lingbot_map::tool {

/// The depth of a 16-bit gray PNG, value / factor; 0 and 65535, which a run writes for all that is too far, are no
/// depth.
[[nodiscard]] DepthMap read_depth_picture(const std::filesystem::path& path, double factor);

/// Throws what can be known beforehand.
void require_plots();

/// Writes trajectory.png and errors.png into a folder, which is made. Throws Error(output).
void write_plots(const std::filesystem::path& folder, const TrajectoryEvaluation& evaluation);
/// Writes depth.png: some of the compared frames, evenly spread, loaded by `load` as evaluate_depth() loads them.
void write_depth_plot(const std::filesystem::path& folder, const DepthEvaluation& evaluation,
                      const std::function<DepthPair(std::size_t)>& load);

}  // namespace lingbot_map::tool
