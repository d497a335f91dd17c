#pragma once

#include <string>

#include "geometry/similarity.hpp"
#include "lingbot_map/session.hpp"

namespace lingbot_map {

/// The world and unit that results are written in.
struct Units {
  Sim3 output_from_network;
  /// What files say of it, one line without an end.
  std::string text = "the unit is the network's own, not metric";
  /// Whether this is anything but the network's own world and unit.
  bool changed = false;

  /// Lengths times `scale`, as `--scale` asks.
  [[nodiscard]] static Units scaled(double scale);
  /// The world of a given trajectory, which `name` names, as `--align_to` asks.
  [[nodiscard]] static Units aligned(const Sim3& output_from_network, const std::string& name);
};

/// A result in these units: its pose moved, depth and world points grown. Poses that are none stay as they are. The
/// encoding's float32 is the precision of its pose; exports that can do better take world_from_camera of a PosedFrame.
[[nodiscard]] FrameResult in_units(const Units& units, FrameResult result);

}  // namespace lingbot_map
