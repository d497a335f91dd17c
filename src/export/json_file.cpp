#include "export/json_file.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"

namespace lingbot_map {

void write_json(const std::filesystem::path& path, const nlohmann::ordered_json& document) {
  FileWriter file(path);
  file.write(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  file.commit();
}

}  // namespace lingbot_map
