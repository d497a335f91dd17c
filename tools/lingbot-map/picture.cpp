#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "base/text.hpp"
#include "choices.hpp"
#include "command.hpp"
#include "evaluation/trajectory_file.hpp"
#include "export/ply_reader.hpp"
#include "flags.hpp"
#include "media/write_png.hpp"
#include "viewer/point_picture.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 20'000'000;

struct PictureFlags {
  std::string run;
  std::string points;
  std::string trajectory;
  std::string output;
  std::string size = "1280x720";
  std::string background = "white";
  PictureOptions options;
  bool all_sides = false;
};

PictureOptions settle(PictureFlags& flags) {
  if (!flags.run.empty()) {
    if (flags.points.empty()) flags.points = (fs::path(flags.run) / "points.ply").string();
    if (flags.trajectory.empty()) flags.trajectory = (fs::path(flags.run) / "trajectory.txt").string();
  }
  if (flags.points.empty() && flags.trajectory.empty())
    fail(ErrorCode::usage, "picture: nothing to draw; give the folder of a run, --points FILE or --trajectory FILE");
  PictureOptions options = flags.options;
  const FrameSize size = frame_size(flags.size);
  options.width = size.width;
  options.height = size.height;
  options.see_through_backs = !flags.all_sides;
  if (choice("--background", flags.background, {"white", "black"}) == 1) options.background = {0, 0, 0};
  return options;
}

void draw(PictureFlags& flags) {
  const PictureOptions options = settle(flags);
  std::vector<ColouredPoint> points;
  if (!flags.points.empty()) points = read_ply_points(flags.points, kMostPoints);
  std::vector<Rigid3> cameras;
  if (!flags.trajectory.empty())
    for (const StampedPose& pose : read_trajectory(flags.trajectory).poses) cameras.push_back(pose.world_from_camera);
  write_png(flags.output, point_picture(points, cameras, options));
  std::printf("%s points and %s cameras in %s\n", grouped(points.size()).c_str(), grouped(cameras.size()).c_str(),
              flags.output.c_str());
}

}  // namespace

void add_picture(CLI::App& app) {
  CLI::App* command = app.add_subcommand("picture", "Draw a point cloud with the path of the cameras, seen from above");
  const auto flags = std::make_shared<PictureFlags>();
  command->add_option("run", flags->run, "Folder that `run` wrote: its points.ply and trajectory.txt")
      ->type_name("DIR");
  Flags adder(*command);
  adder.value("--points", flags->points, "Another point cloud: binary PLY with float x y z and uchar red green blue",
              "FILE");
  adder.value("--trajectory", flags->trajectory, "Another path of the cameras: TUM or KITTI", "FILE");
  adder.value("--output", flags->output, "The picture", "FILE.png")->required();
  adder.value("--size", flags->size, "Of the picture (1280x720)", "WxH");
  adder.value("--azimuth", flags->options.viewpoint.azimuth_degrees,
              "Degrees to the side of the cameras' mean direction (25)", "X");
  adder.value("--elevation", flags->options.viewpoint.elevation_degrees, "Degrees above the horizontal (40)", "X");
  adder.value("--fov", flags->options.viewpoint.fov_degrees, "Horizontal field of view in degrees (45)", "X");
  adder.value("--point_size", flags->options.point_size, "Diameter of a point in pixels (2)", "X");
  adder.value("--background", flags->background, "white unless given", "white|black");
  adder.flag("--all_sides", flags->all_sides,
             "Also points that cameras saw from the other side, as ceilings from below");
  command->callback([flags] { draw(*flags); });
}

}  // namespace lingbot_map::tool
