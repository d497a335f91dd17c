#pragma once

#include <span>
#include <string>
#include <vector>

#include "export/point_cloud.hpp"
#include "export/posed_frame.hpp"

namespace lingbot_map {

/// A format that takes frames one by one. Files are readable while they grow, as far as the format allows.
class FrameExport {
 public:
  virtual ~FrameExport() = default;
  /// Takes frames in the order of their indices. `points` are those that were selected from the frame, for formats that
  /// show them as they are. Throws Error(output).
  virtual void write(const PosedFrame& frame, std::span<const ColouredPoint> points) = 0;
  /// Completes the files. Throws Error(output).
  virtual void finish() = 0;
  /// What the user should know at the end, one line each.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

}  // namespace lingbot_map
