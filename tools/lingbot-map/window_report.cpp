#include "window_report.hpp"

#include <iomanip>
#include <numbers>
#include <optional>
#include <sstream>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDegrees = 180 / std::numbers::pi;

std::string rounded(double value) {
  std::ostringstream text;
  text << std::setprecision(3) << value;
  return text.str();
}

std::string name_of_window(std::size_t number, const WindowRecord& window) {
  return message("window ", number, " from frame ", window.first_frame);
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

void WindowReport::remember(std::span<const WindowRecord> windows) {
  for (; told_ < windows.size(); ++told_)
    for (const std::string& line : window_warnings(told_, windows[told_ - 1], windows[told_]))
      console_.remember_warning(line);
}

void WindowReport::tell(std::span<const WindowRecord> windows) {
  for (; told_ < windows.size(); ++told_) {
    console_.detail(window_text(told_, windows[told_]));
    for (const std::string& line : window_warnings(told_, windows[told_ - 1], windows[told_])) console_.warning(line);
  }
}

std::string window_text(std::size_t number, const WindowRecord& window) {
  std::string text = message(name_of_window(number, window), ": ", window.overlap, " frames in common");
  if (window.first_given > window.first_frame)
    text += message(", its own results from frame ", window.first_given, " on");
  if (!window.aligned) return text + ", in coordinates of its own";
  text += message(", scale ", rounded(window.scale));
  if (window.depth_residual) text += message(", depth differs by ", rounded(100 * *window.depth_residual), " %");
  if (window.position_residual && window.rotation_residual)
    text += message(", cameras by ", rounded(*window.position_residual), " and ",
                    rounded(kDegrees * *window.rotation_residual), " degrees");
  return text;
}

std::vector<std::string> window_warnings(std::size_t number, const WindowRecord& before, const WindowRecord& window) {
  std::vector<std::string> lines;
  const std::string name = name_of_window(number, window);
  if (!window.aligned && window.overlap > 0)
    lines.push_back(message(name, ": cannot be placed on the window before, because none of the ", window.overlap,
                            " common frames has a usable camera in both; it stays in coordinates of its own"));
  if (window.scale_jumped)
    lines.push_back(message(name, ": its scale is ", rounded(window.scale / before.scale),
                            " times that of the window before; the network may have lost its way"));
  if (window.residual_jumped)
    lines.push_back(message(name, ": its depth differs by ", rounded(100 * window.depth_residual.value_or(0)),
                            " % and its cameras by ", rounded(kDegrees * window.rotation_residual.value_or(0)),
                            " degrees from the window before in their ", window.overlap,
                            " common frames; the network may have lost its way"));
  return lines;
}

nlohmann::ordered_json to_json(std::span<const WindowRecord> windows) {
  Json list = Json::array();
  for (const WindowRecord& window : windows) {
    list.push_back({{"first_frame", window.first_frame},
                    {"frames", window.frames},
                    {"overlap", window.overlap},
                    {"first_given", window.first_given},
                    {"aligned", window.aligned},
                    {"scale", window.scale},
                    {"transform", window.transform},
                    {"depth_residual", or_null(window.depth_residual)},
                    {"position_residual", or_null(window.position_residual)},
                    {"rotation_residual_degrees",
                     window.rotation_residual ? Json(kDegrees * *window.rotation_residual) : Json(nullptr)},
                    {"scale_jumped", window.scale_jumped},
                    {"residual_jumped", window.residual_jumped}});
  }
  return list;
}

}  // namespace lingbot_map::tool
