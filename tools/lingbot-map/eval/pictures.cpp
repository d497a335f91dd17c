#include "eval/pictures.hpp"

#include "export/output_folder.hpp"
#include "media/image.hpp"
#include "media/write_png.hpp"
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

}  // namespace lingbot_map::tool
