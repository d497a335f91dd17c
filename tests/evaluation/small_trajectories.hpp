#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/association.hpp"
#include "evaluation/trajectory_file.hpp"

namespace lingbot_map::test {

/// A turn by the right hand about the y axis.
inline Mat3 about_y(double degrees) {
  const double angle = degrees * std::acos(-1.0) / 180;
  return {std::cos(angle), 0, std::sin(angle), 0, 1, 0, -std::sin(angle), 0, std::cos(angle)};
}
/// And about the x axis.
inline Mat3 about_x(double degrees) {
  const double angle = degrees * std::acos(-1.0) / 180;
  return {1, 0, 0, 0, std::cos(angle), -std::sin(angle), 0, std::sin(angle), std::cos(angle)};
}

/// Ten poses a second at these places, each turned a little further.
inline Trajectory trajectory_of(const std::vector<Vec3>& centres, std::string name = "trajectory.txt") {
  Trajectory trajectory;
  trajectory.name = std::move(name);
  for (std::size_t i = 0; i < centres.size(); ++i) {
    const double time = static_cast<double>(i) / 10;
    trajectory.frame_times.push_back(time);
    trajectory.poses.push_back(
        {time, static_cast<std::int64_t>(i), {about_y(3.0 * static_cast<double>(i)), centres[i]}});
  }
  return trajectory;
}

/// A path that spans space.
inline std::vector<Vec3> wavy_path(int count) {
  std::vector<Vec3> centres;
  for (int i = 0; i < count; ++i) centres.push_back({0.1 * i, std::sin(0.3 * i), 0.5 * std::cos(0.2 * i)});
  return centres;
}

}  // namespace lingbot_map::test
