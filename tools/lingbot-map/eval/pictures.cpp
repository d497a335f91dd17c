#include "eval/pictures.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "export/output_folder.hpp"
#include "media/image.hpp"
#include "media/write_png.hpp"
#include "plot/depth_plot.hpp"
#include "plot/error_plot.hpp"
#include "plot/trajectory_plot.hpp"

namespace lingbot_map::tool {

DepthMap read_depth_picture(const std::filesystem::path& path, double factor) {
  constexpr std::uint16_t kTooFar = 65535;
  const Gray16 picture = decode_gray16(path);
  DepthMap map = {picture.width, picture.height, {}};
  map.values.reserve(picture.pixels.size());
  for (const std::uint16_t value : picture.pixels)
    map.values.push_back(value == kTooFar ? 0 : static_cast<float>(value / factor));
  return map;
}

void require_plots() {}

void write_plots(const std::filesystem::path& folder, const TrajectoryEvaluation& evaluation) {
  make_output_folder(folder);
  write_png(folder / "trajectory.png", draw_trajectory(evaluation));
  write_png(folder / "errors.png", draw_errors(evaluation));
}

void write_depth_plot(const std::filesystem::path& folder, const DepthEvaluation& evaluation,
                      const std::function<DepthPair(std::size_t)>& load) {
  constexpr std::size_t kShown = 5;
  const std::size_t count = evaluation.frames.size();
  const std::size_t shown = std::min(count, kShown);
  std::vector<DepthComparison> frames;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t place = shown == 1 ? 0 : i * (count - 1) / (shown - 1);
    DepthPair pair = load(place);
    for (float& value : pair.estimate.values) value = static_cast<float>(value * evaluation.frames[place].scale);
    frames.push_back({message("frame ", pair.frame), std::move(pair.estimate), std::move(pair.truth)});
  }
  make_output_folder(folder);
  write_png(folder / "depth.png", draw_depth(frames));
}

}  // namespace lingbot_map::tool
