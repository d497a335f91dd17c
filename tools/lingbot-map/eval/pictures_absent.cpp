#include "base/message.hpp"
#include "eval/pictures.hpp"

namespace lingbot_map::tool {

DepthMap read_depth_picture(const std::filesystem::path& path, double /*factor*/) {
  fail(ErrorCode::unsupported, path.string(),
       ": this build reads no pictures; build with -DLINGBOT_MAP_MEDIA=ON, or "
       "give depth as .npy or .npz");
}

void require_plots() {
  fail(ErrorCode::unsupported, "--plot: this build writes no pictures; build with -DLINGBOT_MAP_MEDIA=ON");
}

void write_plots(const std::filesystem::path& /*folder*/, const TrajectoryEvaluation& /*evaluation*/) {
  require_plots();
}

void write_depth_plot(const std::filesystem::path& /*folder*/, const DepthEvaluation& /*evaluation*/,
                      const std::function<DepthPair(std::size_t)>& /*load*/) {
  require_plots();
}

}  // namespace lingbot_map::tool
