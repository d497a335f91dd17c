#include "stage_table.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace lingbot_map::tool {

std::array<std::pair<std::string_view, double>, 5> named_stages(const StageTimes& times) {
  return {{{"encoder", times.encoder},
           {"frame attention", times.frame_attention},
           {"global attention", times.global_attention},
           {"camera", times.camera},
           {"depth", times.depth}}};
}

nlohmann::ordered_json stages_json(const StageTimes& times) {
  nlohmann::ordered_json json;
  for (const auto& [name, seconds] : named_stages(times)) {
    std::string key(name);
    std::replace(key.begin(), key.end(), ' ', '_');
    json[key] = seconds;
  }
  return json;
}

std::string stage_table(const StageTimes& times, double seconds, std::int64_t frames) {
  std::ostringstream out;
  out << std::fixed << "| stage | seconds | ms a frame | share |\n|---|---|---|---|\n";
  const auto row = [&](std::string_view name, double part) {
    out << "| " << name << std::setprecision(3) << " | " << part << " | "
        << 1000 * part / static_cast<double>(std::max<std::int64_t>(frames, 1)) << std::setprecision(1) << " | "
        << (seconds > 0 ? 100 * part / seconds : 0.0) << " % |\n";
  };
  double rest = seconds;
  for (const auto& [name, part] : named_stages(times)) {
    row(name, part);
    rest -= part;
  }
  row("copies and the rest", std::max(rest, 0.0));
  row("all", seconds);
  return out.str();
}

}  // namespace lingbot_map::tool
