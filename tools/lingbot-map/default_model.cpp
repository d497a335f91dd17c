#include "default_model.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/message.hpp"

namespace lingbot_map::tool {

namespace fs = std::filesystem;

std::vector<fs::path> default_model_places(const fs::path& program) {
  const fs::path name = "lingbot-map-mini.safetensors";
  return {program.parent_path().parent_path() / "share/lingbot-map" / name, fs::path(LINGBOT_MAP_MODELS) / name};
}

fs::path first_model(const std::vector<fs::path>& places) {
  const auto found = std::find_if(places.begin(), places.end(), [](const fs::path& place) {
    std::error_code ignored;
    return fs::is_regular_file(place, ignored);
  });
  if (found != places.end()) return *found;
  std::string names;
  for (const fs::path& place : places) names += (names.empty() ? "" : " nor ") + place.string();
  fail(ErrorCode::input, "no model: looked for the one that comes with the program and found neither ", names,
       "; give --model_path FILE");
}

fs::path default_model() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return first_model(default_model_places(program));
}

}  // namespace lingbot_map::tool
